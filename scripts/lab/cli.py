# SPDX-License-Identifier: MIT
"""The command line of rmlab."""

import argparse
import json
import os
import re
import shlex
import sys
from pathlib import Path

from . import LabError, UsageError, WrongFile, channel, command, qmp, saved
from . import lab as labs
from .lab import Lab
from .process import read_log
from .saved import Saved

SIZES = ("64M", "128M", "256M")
MAX_NODE_ID = 255
MAX_MACHINES = 16
DEFAULT_MACHINES = 3
QCOW2 = b"QFI\xfb"      # the first bytes of such a disk image
MAX_RESERVED = 1024     # MiB; all memory lies below 2 GiB, in one piece

# Options whose value may itself begin with a dash.
DASH_VALUES = ("--kernel-args", "--append", "--qemu-arg", "--device-arg", "--hub-arg")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(message)


# --- values ---

def lab_name(text):
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", text):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no name for a lab: up to 32 letters, digits, '.', '_' and '-'")
    return text


def machine_count(text):
    if not text.isdecimal() or not 1 <= int(text) <= MAX_MACHINES:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to {MAX_MACHINES}")
    return int(text)


def machine_number(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no machine number; machines count from 1")
    return int(text)


def node_ids(text):
    ids = []
    for word in text.split(","):
        try:
            number = int(word, 0)
        except ValueError:
            number = -1
        if not 0 <= number <= MAX_NODE_ID:
            raise argparse.ArgumentTypeError(f"'{word}' is no node id from 0 to {MAX_NODE_ID}")
        ids.append(number)
    return ids


def reserved_size(text):
    match = re.fullmatch(r"(\d+)M", text)
    if not match or not 1 <= int(match[1]) <= MAX_RESERVED:
        raise argparse.ArgumentTypeError(f"'{text}' is no size from 1M to {MAX_RESERVED}M")
    return int(match[1]) << 20


def for_machines(text):
    """'N:STR' is for machine N, anything else for all: (N or None, STR)."""
    match = re.fullmatch(r"(\d+):(.*)", text, re.DOTALL)
    return (int(match[1]), match[2]) if match else (None, text)


def address(text):
    """'HOST:PORT', as (host, port)."""
    match = re.fullmatch(r"(.+):(\d+)", text)
    if not match or not 1 <= int(match[2]) <= 65535 - 2 * MAX_MACHINES:
        raise argparse.ArgumentTypeError(f"'{text}' is no HOST:PORT of a hub")
    return match[1].strip("[]"), int(match[2])


def port_number(text):
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port from 0 to 65535")
    return int(text)


def for_machine(text):
    """'N=STR': (N, STR)."""
    match = re.fullmatch(r"(\d+)=(.+)", text, re.DOTALL)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' does not say which machine: N=...")
    return int(match[1]), match[2]


def disk(text):
    """'N=FILE', of which QEMU is told for good what it is: (N, its path)."""
    number, name = for_machine(text)
    try:
        with open(name, "rb") as file:
            if file.read(len(QCOW2)) != QCOW2:
                raise argparse.ArgumentTypeError(f"{name} is no qcow2 disk image; 'qemu-img convert -O "
                                                 "qcow2' makes one of others")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error.strerror}") from None
    return number, os.path.abspath(name)


def json_object(text):
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"'{text}' is no JSON object")
    return value


# --- verbs ---

def complete(args):
    """Makes of the words of the command line what `up` and `libvirt` need, or says what is wrong with them."""
    args.saved = Saved(args.saved) if args.saved else None
    if args.saved:
        args.ids = args.ids or args.saved.ids
        args.topology, args.size = args.saved.config["topology"], args.saved.config["size"]
    args.nodes = args.nodes or (len(args.ids) if args.ids else DEFAULT_MACHINES)
    args.ids = args.ids or list(range(1, args.nodes + 1))
    if len(args.ids) != args.nodes:
        raise UsageError(f"--ids names {len(args.ids)} node ids for {args.nodes} machines")
    for option, values in (("--qemu-arg", args.qemu_arg), ("--device-arg", args.device_arg),
                           ("--image", args.image), ("--login", args.login)):
        for number, _ in values:
            if number is not None and not 1 <= number <= args.nodes:
                raise UsageError(f"{option} is for machine {number}, but there are {args.nodes}")

    args.ethernet |= args.rdma
    args.images, args.logins = dict(args.image), dict(args.login)
    # What only 'run' has.
    args.members = args.programs = ()
    args.made_by, args.made = None, False
    for number in args.logins.keys() - args.images.keys():
        raise UsageError(f"--login is for machine {number}, which boots no --image")
    if args.rdma and len(args.images) == args.nodes:
        raise UsageError("--rdma is of the small guest, but every machine boots an --image; --ethernet gives "
                         "them the network")
    if args.write_images and not args.images:
        raise UsageError("--write-images, but there is no --image")

    if args.hub and args.topology == "hub":
        raise UsageError("--hub is for a hub elsewhere, --topology hub for one of the lab's own")
    if args.hub_arg and args.topology != "hub":
        raise UsageError("--hub-arg is for a lab with a hub: --topology hub")
    args.hub_args = [word for value in args.hub_arg for word in shlex.split(value)]
    if args.saved:
        args.hub_args = args.saved.config["hub_args"] + args.hub_args

    for node in sorted({node for node in args.ids if args.ids.count(node) > 1}):
        same = [str(number) for number, other in enumerate(args.ids, 1) if other == node]
        print(f"rmlab: machines {', '.join(same)} have the same node id, {node:#x} ({node}): only the "
              "first on the ring stays in it", file=sys.stderr)

    def chosen(values, number):
        return [value for only, value in values if only in (None, number)]

    # What no driver but ours knows would be in the way of another.
    base = ["extension=off"] if args.driver == "none" else []
    args.device_args = lambda number: base + chosen(args.device_arg, number)
    args.qemu_args = lambda number: [word for value in chosen(args.qemu_arg, number)
                                     for word in shlex.split(value)]


def do_up(args):
    if args.saved:
        plain = vars(parser().parse_args(["up"]))
        if any(vars(args)[key] != plain[key] for key in plain.keys() - {"name", "saved"}):
            raise UsageError("with --from the lab is as it was saved: only --name may be given besides")
    complete(args)
    labs.up(args)
    return 0


def do_save(args):
    if args.saved.isdecimal():
        raise UsageError(f"'{args.saved}' is the number of a machine, and no name of a saved lab")
    with labs.end_by_signal():
        folder, equal = saved.save(Lab(args.name), args.saved)
    size = sum(path.stat().st_blocks for path in folder.iterdir()) * 512 >> 20
    print(f"lab '{args.name}' is saved as '{args.saved}': {folder}, {size} MiB; the memories of its cards "
          + {True: "are equal", False: "are not equal: 'rmctl verify' says where",
             None: "were not compared, as not every machine has placed its own"}[equal])
    return 0


def up_options(words):
    """What `up` would make of these words."""
    args = parser().parse_args(join_dash_values(["up", *words]))
    complete(args)
    return args


def do_run(args):
    from . import run           # with what reads its file, which takes longer than the rest of rmlab
    return run.run(args.file, args.junit, args.logs)


def do_ui(args):
    from . import ui            # with asyncio, for which nobody else waits
    return ui.run(args)


def do_libvirt(args):
    complete(args)
    if args.topology == "hub":
        raise UsageError("libvirt runs no hub of ours: start an rmhub, and say with --hub where it is")
    print(*labs.write_domains(args, Path(args.to or args.name).absolute()), sep="\n")
    return 0


def do_exec(args):
    if not args.command:
        raise UsageError("exec needs '--' and a command")
    return reached(args).run(channel.quote(args.command))


def reached(args):
    """For what ends as its command does: that there is no way in has a status of its own."""
    machine = Lab(args.name).machine(args.node)
    try:
        return machine.channel()
    except LabError as error:
        raise channel.ChannelError(str(error)) from error


def do_args(args):
    print(command.by_hand(Lab(args.name).machine(args.node).config["command"]))
    return 0


def do_push(args):
    if not os.path.exists(args.source):
        raise LabError(f"there is no {args.source} here")
    return Lab(args.name).machine(args.node).channel().push(args.source, args.target)


def do_pull(args):
    return Lab(args.name).machine(args.node).channel().pull(args.source, args.target)


def do_shell(args):
    return reached(args).shell()


def do_qmp(args):
    machine = Lab(args.name).machine(args.node)
    machine.require_running()
    print(json.dumps(qmp.execute(machine.qmp, args.command, args.arguments)))
    return 0


def do_log(args):
    machine = Lab(args.name).machine(args.node)
    sys.stdout.write(read_log(machine.log if args.qemu else machine.console))
    return 0


def do_status(args):
    lab = Lab(args.name)
    status = lab.status()
    if args.json:
        print(json.dumps(status))
        return 0
    print(f"lab '{lab.name}': {lab.summary}")
    hub = status["hub"]
    if hub:
        process = f"pid {hub['pid']}, control socket {hub['socket']}" if hub["pid"] else ""
        print(f"hub: {hub['state']} {process}".rstrip())
    for node in status["nodes"]:
        process = f"pid {node['pid']}, ssh port {node['ssh_port']}" if node["pid"] else ""
        cut = ", the fibre that comes to it is cut" if node["fibre"] == "cut" else ""
        disk_of = f", boots {node['image']}" if node["image"] else ""
        print(f"machine {node['n']}: node {node['node_id']:#x} ({node['node_id']}), "
              f"{node['state']} {process}".rstrip() + cut + disk_of)
    return 0


def do_kill(args):
    Lab(args.name).machine(args.node).kill()
    return 0


def do_start(args):
    with labs.end_by_signal():
        labs.boot([Lab(args.name).machine(args.node)])
    return 0


def do_migrate(args):
    lab = Lab(args.name)
    if not lab.on_hub:
        raise LabError(f"the cards of lab '{args.name}' are connected to each other, and would not "
                       "find one that has moved; on a hub they do: 'rmlab up --topology hub'")
    with labs.end_by_signal():
        lab.machine(args.node).migrate()
    return 0


def fibre_of(args):
    lab = Lab(args.name)
    if lab.on_hub:
        raise LabError(f"the fibres of lab '{args.name}' end at a hub: 'rmhub cut' and 'rmhub "
                       "restore' are for them")
    return lab.machine(args.node)


def do_cut(args):
    fibre_of(args).cut()
    return 0


def do_restore(args):
    if args.node.isdecimal():
        args.node = int(args.node)
        fibre_of(args).restore()
        return 0
    Saved(args.node)        # there is one, before what runs is taken down
    labs.down(args.name)
    return do_up(parser().parse_args(["up", "--name", args.name, "--from", args.node]))


def do_down(args):
    labs.down(args.name)
    return 0


# --- the command line ---

def parser():
    top = Parser(prog="rmlab", description="Boots and drives rings of virtual machines. Machines "
                 "count from 1. Exit status: 0 done, 1 failed, 2 wrong usage; that of exec and "
                 "shell is the command's own, or 255 if the machine cannot be reached.")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name, handler, text, **more):
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", **more)
        sub.add_argument("--name", type=lab_name, default="default", metavar="L",
                         help="which lab (default: 'default')")
        sub.set_defaults(handler=handler)
        return sub

    def node_verb(name, handler, text, *arguments, **more):
        sub = verb(name, handler, text, **more)
        sub.add_argument("node", type=machine_number, metavar="NODE", help="machine number")
        for argument, what in arguments:
            sub.add_argument(argument, metavar=argument.upper(), help=what)
        return sub

    sub = verb("up", do_up, "boot machines whose cards form one ring, and wait until they are ready")
    sub.add_argument("--from", dest="saved", type=lab_name, metavar="NAME",
                     help="in place of all other options: the machines go on from what 'save' has written down")
    add_up(sub)
    sub = verb("libvirt", do_libvirt, "write machines, as 'up' would boot them, as domains of libvirt: XML "
               "for 'virsh define'")
    add_up(sub)
    sub.set_defaults(saved=None)
    sub.add_argument("--to", metavar="FOLDER", help="which to make for the files (default: ./L)")
    sub = verbs.add_parser("run", help="boot a lab that a file describes, run its commands and faults, take it down; "
                           "the exit status is the verdict: 0 all was as it should be, 1 not")
    sub.add_argument("file", metavar="LAB.toml")
    sub.add_argument("--junit", metavar="OUT.xml", help="write the verdict there, for CI")
    sub.add_argument("--logs", metavar="FOLDER", help="what all have said (default: ./LAB.logs)")
    sub.set_defaults(handler=do_run)
    add_ui(verb("ui", do_ui, "serve a page to look at a ring, for browsers: who is on it, rates, losses, values"))
    node_verb("exec", do_exec, "run a command on a machine; output, error output and exit status "
              "are those of the command (128 + N when signal N ended it)",
              usage="rmlab exec [--name L] NODE -- CMD [ARG...]")
    node_verb("push", do_push, "copy a file or folder to a machine",
              ("source", "here"), ("target", "on the machine"))
    node_verb("pull", do_pull, "copy a file or folder from a machine",
              ("source", "on the machine"), ("target", "here"))
    node_verb("shell", do_shell, "open an interactive shell on a machine")
    sub = node_verb("qmp", do_qmp, "send one command to a machine's QEMU and print what it returns",
                    ("command", "for instance query-status"))
    sub.add_argument("arguments", nargs="?", type=json_object, metavar="JSON",
                     help="for instance '{\"id\": \"rfm0\"}'")
    node_verb("args", do_args, "print a machine's QEMU command line, for a shell")
    sub = node_verb("log", do_log, "print what a machine's console has shown")
    sub.add_argument("--qemu", action="store_true",
                     help="instead what its QEMU has said: the card's complaints")
    sub = verb("status", do_status, "show the machines of a lab")
    sub.add_argument("-j", "--json", action="store_true", help="as JSON")
    node_verb("kill", do_kill, "end a machine at once, as a power failure would")
    node_verb("start", do_start, "boot a machine that is dead, with the arguments it had")
    node_verb("migrate", do_migrate, "move a machine, as it runs, to a new QEMU on this host: live "
              "migration; its sessions end")
    node_verb("cut", do_cut, "cut the fibre that comes to a machine from the one before it")
    sub = verb("save", do_save, "write down a whole lab as it is: all its machines, at one moment; it goes on")
    sub.add_argument("saved", type=lab_name, metavar="NAME", help="by which 'up --from' and 'restore' find it")
    sub = verb("restore", do_restore, "mend a fibre that was cut; or let the lab go back to what was saved")
    sub.add_argument("node", type=lab_name, metavar="NODE|NAME",
                     help="the number of the machine to which the fibre comes; or of which 'save'")
    verb("down", do_down, "end all machines of a lab and remove all its files; works in any state")
    return top


def add_up(sub):
    sub.add_argument("--nodes", type=machine_count, metavar="N",
                     help="number of machines (default: as many as --ids names, else 3)")
    sub.add_argument("--ids", type=node_ids, metavar="ID,ID,...",
                     help="node ids of the cards, 0 to 255 (default: 1, 2, ...)")
    sub.add_argument("--topology", choices=("chain", "hub"), default="chain",
                     help="how the cards are connected: each to the next (default), or all to "
                     "an rmhub")
    sub.add_argument("--hub", type=address, metavar="HOST:PORT",
                     help="plug the cards into an rmhub elsewhere, by TCP: machine 1 sends to PORT and "
                     "receives from PORT + 1, machine 2 the next two, and so on")
    sub.add_argument("--hub-arg", action="append", default=[], metavar="STR",
                     help="more arguments of the hub; split at spaces as a shell would")
    sub.add_argument("--size", choices=SIZES, default="64M", help="card memory (default: 64M)")
    sub.add_argument("--image", type=disk, action="append", default=[], metavar="N=FILE",
                     help="machine N boots this disk, a qcow2 image, in place of rmlab's small guest")
    sub.add_argument("--write-images", action="store_true",
                     help="what a machine writes to its disk stays; without, its image is left as it is")
    sub.add_argument("--login", type=for_machine, action="append", default=[], metavar="N=USER",
                     help="who 'exec' and its like are on a machine with a disk (default: root); "
                     "'none': there is no ssh server to wait for")
    sub.add_argument("--kernel", metavar="VERSION|PATH",
                     default=os.environ.get("RMLAB_KERNEL"),
                     help="what to boot, as scripts/guest-image takes it (default: what RMLAB_KERNEL in the "
                     "environment says, else the stock kernel)")
    sub.add_argument("--driver", choices=("rfm", "none"), default="rfm",
                     help="none: nothing of ours is loaded, and the card has only what a 5565 has, for "
                     "a driver of your own (default: rfm)")
    sub.add_argument("--reserve", type=reserved_size, default=0, metavar="SIZE",
                     help="keep that much physical memory from the kernel, 1M to "
                     f"{MAX_RESERVED}M; 'status' says where")
    sub.add_argument("--ethernet", action="store_true",
                     help="each machine has a network card on the ring besides: eth1, address 10.65.1.ID/16, "
                     "MTU 9000")
    sub.add_argument("--rdma", action="store_true",
                     help="as --ethernet, and the small guest has RDMA: verbs on that card, and programs for it")
    sub.add_argument("--kernel-args", "--append", default="", metavar="STR",
                     help="more kernel arguments")
    sub.add_argument("--qemu-arg", type=for_machines, action="append", default=[],
                     metavar="[N:]STR", help="more QEMU arguments, for all machines or machine N; "
                     "split at spaces as a shell would")
    sub.add_argument("--device-arg", type=for_machines, action="append", default=[],
                     metavar="[N:]STR", help="more properties of the card, as PROP=VALUE[,...]")
    sub.add_argument("--accel", choices=("kvm", "tcg"),
                     help="default: kvm where it can work, else tcg")


def add_ui(sub):
    sub.add_argument("--hub", metavar="SOCKET", help="in place of a lab: the control socket of an rmhub")
    sub.add_argument("--member", action="append", default=[], metavar="SOCKET",
                     help="in place of a lab: that of an rmnode; for each")
    sub.add_argument("--regions", metavar="FILE", help="show what this file names, rfm-regions(5)")
    sub.add_argument("--bind", default="127.0.0.1", metavar="ADDRESS",
                     help="where to listen (default: 127.0.0.1, which only this host reaches)")
    sub.add_argument("--port", type=port_number, default=5565, metavar="N",
                     help="TCP port (default: 5565; 0: any that is free)")


def split_command(argv):
    """What stands after '--' is a command for the guest, and no business of argparse."""
    if argv[:1] != ["exec"]:
        return argv, []
    if "--" not in argv:
        if {"-h", "--help"}.isdisjoint(argv):
            raise UsageError("exec needs '--' and a command")
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1:]


def join_dash_values(argv):
    """argparse takes '--qemu-arg -S' for two options; '--qemu-arg=-S' is clear."""
    joined, rest = [], list(argv)
    while rest:
        word = rest.pop(0)
        if word in DASH_VALUES and rest:
            word += "=" + rest.pop(0)
        joined.append(word)
    return joined


def main(argv):
    try:
        argv, command = split_command(argv)
        args = parser().parse_args(join_dash_values(argv))
        args.command = command if args.verb == "exec" else getattr(args, "command", None)
        return args.handler(args)
    except WrongFile as error:
        print(f"rmlab: {error}", file=sys.stderr)
        return 2
    except UsageError as error:
        print(f"rmlab: {error} (see 'rmlab --help')", file=sys.stderr)
        return 2
    except channel.ChannelError as error:
        print(f"rmlab: {error}", file=sys.stderr)
        return channel.CHANNEL_FAILED
    except (LabError, OSError) as error:
        print(f"rmlab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rmlab: interrupted", file=sys.stderr)
        return 130
