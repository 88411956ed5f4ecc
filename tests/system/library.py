#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The libraries as they are installed, for programs outside of this tree; nothing leaks out."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import TOP, Skipped, asked, expect, plan, run

PROGRAM = r"""
#include <rfmring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	struct rfmring_interrupt interrupt;
	struct rfmring *ring;
	uint32_t value = 0;
	char error[256];

	if (argc != 4)
		return 2;
	config.id = atoi(argv[1]);
	config.memory_size = 1 << 20;
	config.rx = argv[2];
	config.tx = argv[3];
	ring = rfmring_open(&config, error, sizeof(error));
	if (!ring) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	rfmring_start(ring);
	/* Node 1 asks until node 2 answers. */
	while (config.id == 1 && !rfmring_load32(ring, 4, &value) && value != 43) {
		rfmring_store32(ring, 0, 42);
		rfmring_interrupt(ring, 2, 1, 0);
		rfmring_fence(ring, NULL, 100);
	}
	if (config.id == 2) {
		/* The first store may have been made before the ring was closed, and lost. */
		do {
			if (rfmring_wait_interrupt(ring, &interrupt, 20000) != 1)
				return 3;
		} while (rfmring_load32(ring, 0, &value) || value != 42);
		/* What comes in does not say that the way out is there: the answer is sent once. */
		while (rfmring_fence(ring, NULL, 1000))
			;
		rfmring_store32(ring, 4, value + 1);
		rfmring_fence(ring, NULL, 20000);
	}
	return rfmring_close(ring) ? 4 : 0;
}
"""


# As somebody may have written it for the vendor's library, who looks at everything.
RFM2G_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm2g_api.h"
#include "rfm2g_osspec.h"
#include "rfm2g_defs.h"
#include "rfm2g_types.h"
#include "rfm2g_version.h"

#if (defined(RFM2G_LINUX))
#define DEVICE_PREFIX "/dev/rfm2g"
#else
#error Which system is this?
#endif

extern STDRFM2GCALL RFM2gNodeID(RFM2GHANDLE rh, RFM2G_NODE *NodeIdPtr);

/* What comes with the headers. */
static pthread_mutex_t Mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t Semaphore;

#ifdef __cplusplus
/* A status is none of the integers, and no macro; a truth is a RFM2G_BOOL. */
static int Kind(RFM2G_STATUS) { return 1; }
static int Kind(int) { return 2; }
static int Kind(RFM2G_BOOL) { return 4; }
static int Kind(RFM2G_UINT32) { return 8; }
#define KINDS (Kind(::RFM2G_SUCCESS) + Kind(0) + Kind(RFM2G_TRUE) + Kind(RFM2G_NO_WAIT))
#else
#define KINDS 15
#endif

static void EventCallback(RFM2GHANDLE rh, RFM2GEVENTINFO *EventInfo)
{
    printf("%d %u %u %u %p\n", rh->Config.NodeId, (unsigned) EventInfo->Event,
           EventInfo->NodeId, EventInfo->ExtendedInfo, EventInfo->pDrvSpec);
}

static const char *Name(RFM2G_STATUS Status)
{
    switch (Status)
    {
    case RFM2G_SUCCESS: return "success";
    case RFM2G_TIMED_OUT: return "timed out";
    case RFM2G_WAIT_EVENT_CANCELED: return "canceled";
    case RFM2G_NODE_ID_SELF: return "self";
    default: return RFM2gErrorMsg(Status);
    }
}

int main(int argc, char **argv)
{
    RFM2G_STATUS        result = RFM2G_NOT_INITIALIZED;
    RFM2GHANDLE         Handle = 0;
    RFM2GEVENTINFO      EventInfo;
    RFM2GCONFIG         Config;
    RFM2GQINFO          Qinfo;
    RFM2GEVENTTYPE      Event = RFM2GEVENT_FIFO_AF;
    RFM2G_EVENT_FUNCPTR Function = EventCallback;
    RFM2GREGSETTYPE     Regset = RFM2GCTRLREGMEM;
    RFM2GDATAWIDTH      Width = RFM2G_LONG;
    RFM2G_MEM_OFFSETTYPE Offset = RFM2G_MEM_OFFSET3;
    RFM2GATOMIC         Atomic;
    RFM2GTRANSFER       Transfer;
    RFM2GLINUXREGINFO   RegInfo;
    RFM2G_NODE          Node = RFM2G_NODE_MAX, Last = RFM2G_NODE_UNKNOWN;
    RFM2G_BOOL          Flag = RFM2G_TRUE;
    RFM2G_ADDR          Address = 0;
    RFM2G_UINT64        Wide = 0;
    RFM2G_INT64         Signed = -1;
    RFM2G_CHAR          device[MAX_PATH];
    struct RFM2GCONFIG_ *pConfig = &Config;
    enum RFM2G_STATUS_enum Status = RFM2G_SUCCESS;
    enum rfm2gMemWindowType Window = RFM2G_MEM_OFFSET0;
    enum rfm2gEventType Type = RFM2GEVENT_RESET;
    rfm2ghandle_t       *pHandle;
    PRFM2GQINFO         pQinfo = &Qinfo;
    volatile void       *Memory = NULL;
    char                *pPio = NULL;
    RFM2G_INT32         numDevice = 0;

    if (argc > 1)
        strcpy(device, argv[1]);
    else
        sprintf(device, "%s%d", DEVICE_PREFIX, numDevice);
    result = RFM2gOpen(device, &Handle);
    if (result != RFM2G_SUCCESS)
    {
        printf("ERROR: RFM2gOpen() failed.\n");
        printf("ERROR MSG: %s\n", RFM2gErrorMsg(result));
        return -1;
    }
    result = RFM2gGetConfig(Handle, &Config);
    pPio = (char *) (RFM2G_ADDR) Config.PciConfig.rfm2gBase;
    printf("%s %d %d %d %d %u %s %s %s %d %d %u %u %p\n", Name(result), Config.NodeId,
           Config.BoardId, Config.Unit, Config.PlxRevision, Config.MemorySize, Config.Device,
           Config.Name, Config.DriverVersion, Config.BoardRevision, Config.RevisionId,
           Config.Lcsr1, Config.BuildId, pPio);
    printf("%u %u %u %u %u %u %u %d %d %d %d %u %u\n", Config.PciConfig.rfm2gOrWindowSize,
           Config.PciConfig.rfm2gOrRegSize, Config.PciConfig.rfm2gCsWindowSize,
           Config.PciConfig.rfm2gCsRegSize, Config.PciConfig.rfm2gWindowSize,
           Config.PciConfig.devfn, Config.PciConfig.type, Config.PciConfig.interruptNumber,
           Config.PciConfig.bus, Config.PciConfig.function, Config.PciConfig.revision,
           Config.PciConfig.rfm2gCsBase, Config.PciConfig.rfm2gOrBase);

    Qinfo.Event = RFM2GEVENT_INTR1;
    RFM2gGetEventStats(Handle, &Qinfo);
    printf("%d %d %u %u %u %u %u\n", Qinfo.Overflowed & (QFLAG_HALF_FULL | QFLAG_OVERFLOWED |
           QFLAG_DEQUEUED), Qinfo.QueuePeak, Qinfo.EventCount, Qinfo.EventsQueued,
           Qinfo.QueueSize, Qinfo.MaxQueueSize, Qinfo.EventTimeout);
    RFM2gUserMemory(Handle, (volatile void **) (&pPio), 0x100000 | RFM2G_DMA_MMAP_OFFSET, 1);
    RFM2gUserMemoryBytes(Handle, &Memory, 0, 4096);
    if (!Memory || !pPio || RFM2gRead(Handle, 0, (void *) pPio, 16))
        return 1;
    RFM2gUnMapUserMemory(Handle, &Memory, 1);
    RFM2gEnableEventCallback(Handle, RFM2GEVENT_INTR3, Function);

    memset(&EventInfo, 0, sizeof(EventInfo));
    EventInfo.Event = RFM2GEVENT_INTR2;
    EventInfo.Timeout = RFM2G_INFINITE_TIMEOUT;
    EventInfo.Timeout = RFM2G_NO_WAIT;
    printf("%s\n", Name(RFM2gWaitForEvent(Handle, &EventInfo)));
    Atomic.data = Wide;
    Atomic.offset = 0;
    Atomic.width = RFM2G_LONGLONG;
    Transfer.Offset = Transfer.Length = 0;
    Transfer.Buffer = NULL;
    RegInfo.regset = Regset;
    RegInfo.Offset = RegInfo.Width = RegInfo.Value = Width;
    printf("%d %d %d %d %d %d %d %d %d\n", Event == RFM2GEVENT_RXFIFO_AFULL, Offset, Node,
           Last == RFM2G_NODE_SPECIAL_MIN, Flag == RFM2G_ENABLE && RFM2G_ON != RFM2G_OFF,
           (int) Address, (int) (Signed + Atomic.width), Transfer.Buffer == NULL,
           (int) RegInfo.Value);
    pHandle = Handle;
    pthread_mutex_lock(&Mutex);
    sem_init(&Semaphore, 0, 1);
    sem_wait(&Semaphore);
    printf("%d %d %d %d %d %d %d %d\n", KINDS, (int) Status, (int) Window, (int) Type,
           pHandle->Config.MemorySize == pConfig->MemorySize, pQinfo->Event,
           RFM2G_NODE_SPECIAL_MAX == RFM2G_NODE_ALL, ioctl(-1, 0));
    pthread_mutex_unlock(&Mutex);
    if (strcmp(Config.Name, RFM2G_PRODUCT_STRING) ||
        strcmp(Config.DriverVersion, RFM2G_PRODUCT_VERSION) || strcmp(RFM2G_PRODUCT_OS, "LINUX"))
        return 1;
    RFM2gSetDebugFlags(Handle, RFM2G_DBERROR | RFM2G_DBINIT | RFM2G_DBINTR | RFM2G_DBIOCTL |
        RFM2G_DBMMAP | RFM2G_DBOPEN | RFM2G_DBCLOSE | RFM2G_DBREAD | RFM2G_DBWRITE |
        RFM2G_DBPEEK | RFM2G_DBPOKE | RFM2G_DBSTRAT | RFM2G_DBTIMER | RFM2G_DBTRACE |
        RFM2G_DBMUTEX | RFM2G_DBINTR_NOT | RFM2G_DBSLOW | RFM2G_DBMINPHYS | RFM2G_DBDMA);
    RFM2gClose(&Handle);
    return Handle == NULL ? 0 : 1;
}
"""
RFM2G_HEADERS = ("api", "types", "defs", "defs_linux", "errno", "osspec")


def made(*command, **options):
    """Of two suites that install side by side, one links what the other reads: they take turns."""
    with (TOP / "build" / ".install.lock").open("w") as lock:
        if command[0] == "make":
            fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                              check=False, **options)
    expect(not done.returncode, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


class Installed:
    """A library below a folder of its own."""

    def __init__(self, folder, name, source, headers, prefix, api):
        self.folder = Path(folder)
        self.root = self.folder / "usr"
        self.name = name
        self.library = self.root / "lib" / f"lib{name}.so"
        self.archive = self.root / "lib" / f"lib{name}.a"
        self.headers = [self.root / "include" / name for name in headers]
        self.prefix = prefix
        self.api = api
        made("make", "-s", "-C", TOP / source, "install", f"PREFIX={self.root}")
        self.environment = {**os.environ, "PKG_CONFIG_PATH": str(self.root / "lib" / "pkgconfig"),
                            "LD_LIBRARY_PATH": str(self.root / "lib")}

    def flags(self, *words):
        return made("pkg-config", *words, self.name, env=self.environment).split()

    def exported(self):
        """Calls, each with the version that it has."""
        symbols = made("nm", "-D", "--defined-only", self.library)
        words = [line.split() for line in symbols.splitlines()]
        return dict(word[-1].split("@@") for word in words if word[1] != "A")

    def in_archive(self):
        symbols = made("nm", "-g", "--defined-only", self.archive)
        return {line.split()[-1] for line in symbols.splitlines() if len(line.split()) == 3}

    def needs(self):
        said = made("readelf", "-d", self.library)
        return set(re.findall(r"NEEDED.*\[(.*?)\.so", said)) - {"ld-linux-x86-64"}

    def declared(self):
        """Calls that the header declares, or defines itself."""
        if self.name == "rfm2g":
            text = (self.root / "include" / "rfm2g_api.h").read_text(encoding="ascii")
            return set(re.findall(r"^(?:STDRFM2GCALL |char \*)(RFM2g\w+)\(", text, re.M))
        text = "".join(made("cc", "-E", "-P", f"-I{self.root}/include", header)
                       for header in self.headers)
        mark = r'__attribute__\(\(visibility\("default"\)\)\)|static inline'
        return set(re.findall(rf"(?:{mark})[^;{{}}]*?\b({self.prefix}_\w+)\(", text))

    def sized(self):
        """Those of them that only say how large a structure is to the library's function."""
        return {name for name in self.declared() if f"{name}_sized" in self.declared()}


class Libraries:
    """All of them."""

    def __init__(self, folder):
        self.ring = Installed(folder, "rfmring", "ring", ["rfmring.h"], "rfmring", "RFMRING")
        self.card = Installed(folder, "rfm", "tools/librfm", ["rfm/rfm.h", "rfm/cycle.h"], "rfm", "RFM")
        self.regions = Installed(folder, "rfmregions", "tools/librfm", ["rfm/regions.h", "rfm/io.h"], "rfm",
                                 "RFMREGIONS")
        self.rfm2g = Installed(folder, "rfm2g", "tools/librfm2g",
                               [f"rfm2g_{name}.h" for name in RFM2G_HEADERS], "RFM2g", "RFM2G")
        self.all = (self.ring, self.card, self.regions, self.rfm2g)


def two_members(program, environment):
    """PROGRAM, as it was built, is both nodes of a ring."""
    ends = [f"unix:{program}.{end}" for end in (1, 2)]
    nodes = [subprocess.Popen([program, str(i + 1), ends[i] + ",server", ends[1 - i]],
                              env=environment, stderr=subprocess.PIPE, text=True) for i in range(2)]
    try:
        for node in nodes:
            _, errors = node.communicate(timeout=60)
            expect(node.returncode == 0, f"{program}: status {node.returncode} {errors}")
    finally:
        for node in nodes:
            node.kill()


def test_program(libraries):
    """Two programs that know only pkg-config are a ring, with the shared and the static library"""
    installed = libraries.ring
    source = installed.folder / "program.c"
    source.write_text(PROGRAM, encoding="utf-8")
    for kind, flags in (("shared", installed.flags("--cflags", "--libs")),
                        ("static", ["-static", *installed.flags("--static", "--cflags", "--libs")])):
        program = installed.folder / kind
        made("cc", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags)
        two_members(program, installed.environment)


def test_examples(libraries):
    """librfm's examples can be copied: they build with pkg-config only, and say what is wrong"""
    installed = libraries.card
    folder = installed.folder / "examples"
    shutil.copytree(installed.root / "share" / "doc" / "librfm" / "examples", folder)
    made("make", "-s", "-C", folder, "CFLAGS=-O2 -Wextra -Werror", env=installed.environment)
    programs = [path.with_suffix("") for path in folder.glob("*.c")]
    expect(len(programs) >= 8, f"{programs}")
    for program in programs:
        text = program.with_suffix(".c").read_text()
        named = ["--card"] if "--card" in text else []
        done = subprocess.run([program, *named, folder / "none"], env=installed.environment,
                              text=True, capture_output=True, check=False, timeout=60)
        expect(done.returncode == 1 and done.stderr.count("\n") == 1 and
               "cannot open the card: " in done.stderr and "No such file" in done.stderr, f"{program.name}: {done}")
        if named:
            for words in (["--seconds", "x"], ["--bad"], ["more"], ["--count", "0"]):
                done = subprocess.run([program, *words], env=installed.environment, check=False,
                                      text=True, capture_output=True, timeout=60)
                expect(done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout,
                       f"{program.name} {words}: {done}")


NAMED = r"""
#include <rfm/regions.h>
#include <rfm/rfm.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "rfm-regions: 1\nregions:\n  level: {offset: 8, type: uint16, scale: 0.5}\n";

int main(int argc, char **argv)
{
	struct rfm_regions *regions = rfm_regions_parse("text", text, strlen(text), NULL, NULL);
	struct rfm *rfm = argc == 2 ? rfm_open(argv[1], O_RDWR) : NULL;
	struct rfm_place place;
	char level[32];

	if (!rfm || !regions || rfm_regions_find(regions, "level", &place, NULL, NULL) ||
	    rfm_place_store_real(rfm, &place, 21.5) ||
	    rfm_place_load(rfm, &place, level, sizeof(level)) < 0) {
		fprintf(stderr, "%s\n", rfm_error());
		return 1;
	}
	rfm_regions_free(regions);
	printf("%s %d\n", level, rfm_version() == RFM_VERSION);
	return rfm_close(rfm) != 0;
}
"""


def alone(folder):
    """A node without neighbours"""
    return f"ring:?rx=unix:{folder}/rx,server&tx=unix:{folder}/tx&node=1&size=1M"


def test_all_three(libraries):
    """A program of all three finds them by pkg-config, static and shared, and beside each other"""
    source = libraries.regions.folder / "named.c"
    source.write_text(NAMED, encoding="utf-8")
    lib = libraries.regions.root / "lib"
    # Installed by what makes librfm alone.
    expect((lib / "librfmring.so").exists() and (lib / "pkgconfig" / "rfmring.pc").exists(), "no librfmring")
    for kind, words, more in (
            ("static", ["--static"], ["-static"]),
            ("shared", [], []),
            ("beside", [], [f"-Wl,-rpath,{lib}"])):
        program = libraries.regions.folder / f"named-{kind}"
        flags = libraries.regions.flags(*words, "--cflags", "--libs", "rfm")
        made("cc", "-Wall", "-Wextra", "-Werror", *more, "-o", program, source, *flags)
        environment = {**os.environ} if kind == "beside" else libraries.regions.environment
        done = subprocess.run([program, alone(libraries.regions.folder)], env=environment, text=True,
                              capture_output=True, check=False, timeout=60)
        expect((done.returncode, done.stdout) == (0, "21.5 1\n"), f"{kind}: {done}")


def test_between_files(libraries):
    """Objects that only become code when they are linked make a library of the same calls"""
    place = libraries.ring.folder / "lto"
    made("make", "-s", "-C", TOP / "ring", f"OUT={place}", "CFLAGS=-O1 -flto", place / "librfmring.a")
    symbols = made("nm", "-g", "--defined-only", place / "librfmring.a")
    names = {line.split()[-1] for line in symbols.splitlines() if len(line.split()) == 3}
    expect(names == libraries.ring.in_archive(), f"{names ^ libraries.ring.in_archive()}")


def test_without_header(libraries):
    """A language that has no use for the header calls what is exported"""
    # In a process of its own: this one must not be a node.
    made(sys.executable, "-c", EXPORTED, libraries.card.library, alone(libraries.card.folder),
         env=libraries.card.environment)


EXPORTED = r"""
import ctypes, os, sys
rfm = ctypes.CDLL(sys.argv[1], use_errno=True)
for call in ("rfm_open", "rfm_watch_with_sized"):
    getattr(rfm, call).restype = ctypes.c_void_p
rfm.rfm_error.restype = ctypes.c_char_p
handle = ctypes.c_void_p(rfm.rfm_open(sys.argv[2].encode(), os.O_RDWR))
assert handle.value, rfm.rfm_error()
word = ctypes.c_uint64(0)
for bits in (8, 16, 32, 64):
    value = (1 << bits) - 2
    publish, read = getattr(rfm, f"rfm_publish{bits}"), getattr(rfm, f"rfm_read{bits}")
    publish.argtypes = [ctypes.c_void_p, getattr(ctypes, f"c_uint{bits}")]
    read.restype = getattr(ctypes, f"c_uint{bits}")
    publish(ctypes.addressof(word), value)
    assert read(ctypes.byref(word)) == value, bits
rfm.rfm_publish_double.argtypes = [ctypes.c_void_p, ctypes.c_double]
rfm.rfm_read_double.restype = ctypes.c_double
rfm.rfm_publish_double(ctypes.addressof(word), 0.25)
assert rfm.rfm_read_double(ctypes.byref(word)) == 0.25
rfm.rfm_publish_float.argtypes = [ctypes.c_void_p, ctypes.c_float]
rfm.rfm_read_float.restype = ctypes.c_float
rfm.rfm_publish_float(ctypes.addressof(word), 0.5)
assert rfm.rfm_read_float(ctypes.byref(word)) == 0.5
# Structures as this program knows them, shorter and longer than the library's.
for call in ("info", "get_config", "counters"):
    for size in (8, 16, 4096):
        room = (ctypes.c_ubyte * 4104)(*[0xa5] * 4104)
        assert not getattr(rfm, f"rfm_{call}_sized")(handle, room, ctypes.c_size_t(size)), call
        assert bytes(room[size:]) == b"\xa5" * (4104 - size), (call, size)
        assert size < 4096 or not any(room[3000:4096]), (call, size)
# The defaults of a watch go into no more than there is.
for size in (16, 24, 104, 160):
    watch = (ctypes.c_ubyte * 200)(*[0xa5] * 200)
    rfm.rfm_watch_init_sized(watch, ctypes.c_size_t(size), ctypes.c_void_p(0x1234), ctypes.c_uint32(3))
    assert int.from_bytes(bytes(watch[:8]), sys.byteorder) == 0x1234
    assert bytes(watch[size:]) == b"\xa5" * (200 - size), size
    assert not any(watch[24:size]), size
ranges = (ctypes.c_uint64 * 2)(64, 8)
watch = (ctypes.c_ubyte * 160)()
rfm.rfm_watch_init_sized(watch, ctypes.c_size_t(160), ranges, ctypes.c_uint32(1))
events = ctypes.c_void_p(rfm.rfm_watch_with_sized(handle, watch, ctypes.c_size_t(160)))
assert events.value
records = (ctypes.c_ubyte * 600)()
assert rfm.rfm_events_wait_sized(events, records, ctypes.c_size_t(300), ctypes.c_size_t(2), 0) == 0
assert rfm.rfm_events_wait_sized(events, records, ctypes.c_size_t(300), ctypes.c_size_t(2), -2) == -1
assert rfm.rfm_version() >= 0x010000
rfm.rfm_events_close(events)
assert not rfm.rfm_close(handle)
"""


def test_growth(libraries):
    """Programs of librfmring and librfmregions go on with one that has grown, and the other way round"""
    folder = libraries.ring.folder / "growth"
    later = {"ring/host/rfmring.h": "rfmring.h", "tools/librfm/rfm/regions.h": "rfm/regions.h"}
    for header, installed in later.items():
        for name in (header, installed):
            made(TOP / "tests" / "grown-headers", TOP / header, (folder / "later" / name).parent)
    shutil.copy(TOP / "tools" / "librfm" / "rfm" / "rfm.h", folder / "later" / "rfm")
    shutil.copy(TOP / "tools" / "librfm" / "rfm" / "version.h", folder / "later" / "rfm")
    regions = [*(TOP / "tools" / "librfm").glob("regions*.c"), libraries.card.library,
               f"-Wl,-rpath,{libraries.card.library.parent}"]
    ring = [*(TOP / "ring").glob("*.c"), *(TOP / "ring").glob("*/*.c")]
    source = folder / "program.c"
    source.write_text(PROGRAM, encoding="utf-8")
    for when, includes in (("now", []), ("later", [f"-I{folder}/later"])):
        place = folder / when / "lib"
        place.mkdir(parents=True, exist_ok=True)
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", *includes,
                 f"-I{TOP}", f"-I{TOP}/uapi", f"-I{TOP}/tools/librfm"]
        made("cc", *flags, "-Wl,-soname,librfmring.so.1", "-o", place / "librfmring.so.1", *ring)
        # Beside private.h a header in quotes is the one there: the later one is put in front of it.
        front = ["-include", folder / "later" / "rfm" / "regions.h"] if includes else []
        made("cc", *flags, *front, "-Wl,-soname,librfmregions.so.1", "-o", place / "librfmregions.so.1",
             *regions, "-lyaml")
        program = folder / when
        made("cc", *includes, f"-I{libraries.ring.root}/include", "-o", program / "member", source,
             place / "librfmring.so.1")
        for test in ("regions_test", "regions_value_test"):
            made("cc", "-D_GNU_SOURCE", *includes, f"-I{TOP}", "-o", program / test,
                 TOP / "tests" / "unit" / f"{test}.c", place / "librfmregions.so.1", "-lcmocka")
    for program, library in (("now", "later"), ("later", "now")):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / library / "lib")}
        for test in ("regions_test", "regions_value_test"):
            made(folder / program / test, env=environment)
        two_members(folder / program / "member", environment)


OPENS = r"""
#include <rfm/rfm.h>
#include <fcntl.h>

int main(void)
{
	struct rfm *rfm = rfm_open(NULL, O_RDWR);

	return !rfm || rfm_close(rfm);
}
"""


def test_set_id(libraries):
    """Who runs a program with more rights than his own does not choose its card by the environment"""
    if os.getuid():
        raise Skipped("only root makes such a program")
    installed = libraries.card
    source, program = installed.folder / "opens.c", installed.folder / "opens"
    source.write_text(OPENS, encoding="ascii")
    made("cc", "-Wall", "-Werror", "-static", "-o", program, source, *installed.flags("--static", "--cflags", "--libs"))
    installed.folder.chmod(0o755)
    somebody, group = 65534, 1
    for mode, opened in ((0o755, True), (0o2755, False)):
        os.chown(program, 0, group)
        program.chmod(mode)
        with tempfile.TemporaryDirectory() as folder:
            os.chown(folder, somebody, somebody)
            done = subprocess.run([program], user=somebody, group=somebody, extra_groups=[], check=False, timeout=60,
                                  env={"RFM_CARD": alone(folder)})
        expect((done.returncode == 0) == opened, f"{mode:o}: status {done.returncode}")


def test_rfm2g_program(libraries):
    """A program for the vendor's library builds as C89, C99 and C++, shared and static, and runs"""
    installed = libraries.rfm2g
    source = installed.folder / "rfm2g_program.c"
    source.write_text(RFM2G_PROGRAM, encoding="ascii")
    words = f"ring:?rx=unix:{installed.folder}/one,server&tx=unix:{installed.folder}/one" \
            "&node=3&size=1M"
    for language in (["-std=c89", "-pedantic"], ["-std=c99", "-pedantic"], ["-std=c++98", "-x", "c++"],
                     ["-std=c++17", "-x", "c++"]):
        for kind in ([], ["--static"]):
            program = installed.folder / "rfm2g_program"
            flags = installed.flags("--cflags", "--libs", *kind)
            made("g++" if "c++" in language else "gcc", "-Wall", "-Wextra", "-Werror", *language,
                 "-o", program, source, "-x", "none", *(["-static"] if kind else []), *flags,
                 env=installed.environment)
            out = made(program, env={**installed.environment, "RFM_CARD_0": words})
            expect(out.startswith("success 3 101 0 0 1048576 /dev/rfm2g0 SW-RFM2G-DRV-LNX R09.00 ")
                   and "\ntimed out\n1 3 255 1 1 0 7 1 4\n15 0 0 0 1 1 1 -1\n" in out, out)


RFM2G_LEAST = r"""
#include <rfm2g_api.h>

int main(void)
{
	RFM2GHANDLE handle = 0;

	return RFM2gOpen("/dev/rfm2g4711", &handle) != RFM2G_NO_RFM2G_BOARD;
}
"""


def test_rfm2g_package(libraries):
    """What librfm2g needs is installed with it, for a package too"""
    folder = libraries.rfm2g.folder / "package"
    made("make", "-s", "-C", TOP / "tools" / "librfm2g", "install", f"DESTDIR={folder}", "PREFIX=/opt/rfm")
    root = folder / "opt" / "rfm"
    source = folder / "least.c"
    source.write_text(RFM2G_LEAST, encoding="ascii")
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(root / "lib" / "pkgconfig"),
                   "PKG_CONFIG_SYSROOT_DIR": str(folder), "LD_LIBRARY_PATH": str(root / "lib")}
    for kind in ([], ["--static"]):
        flags = made("pkg-config", *kind, "--cflags", "--libs", "rfm2g", env=environment).split()
        program = folder / "least"
        made("cc", "-Wall", "-Werror", "-o", program, source, *(["-static"] if kind else []), *flags)
        made(program, env=environment)
    # As programs name the vendor's archive, and as their scripts ask for its release.
    made("cc", "-Wall", "-Werror", "-o", program, f"-I{root}/include", source, root / "lib" / "librfm2g.a", "-lpthread")
    made(program)
    text = (root / "include" / "rfm2g_version.h").read_text(encoding="ascii")
    expect('\n#define RFM2G_PRODUCT_VERSION "R09.00"\n' in text, text)


def test_rfm2g_samples(libraries):
    """librfm2g's samples can be copied: they build with pkg-config only, as C89 and C++ too"""
    installed = libraries.rfm2g
    folder = installed.folder / "samples"
    shutil.copytree(TOP / "tools" / "rfm2g", folder)
    for flags in ("-std=c89 -pedantic -D_DEFAULT_SOURCE", "-x c++"):
        sources = [*folder.glob("*.c")]
        expect(len(sources) == 4, f"{sources}")
        for source in sources:
            made("cc", "-Wall", "-Wextra", "-Werror", *flags.split(), "-c", "-o", os.devnull, source,
                 *installed.flags("--cflags"))
    made("make", "-s", "-C", folder, "CFLAGS=-O2 -Wextra -Werror", env=installed.environment)
    for name in ("rfm2g-send", "rfm2g-receive", "rfm2g-map", "rfm2g-perf", "rfm2g-shell"):
        expect((folder / name).exists(), name)


def test_symbols(libraries):
    """Shared and static, a library exports the calls of its header in a version, and nothing else"""
    for installed in libraries.all:
        declared, exported = installed.declared() - installed.sized(), installed.exported()
        expect(declared and exported.keys() == declared,
               f"{exported.keys() ^ declared} is only in one of the two")
        # librfm2g's has the others in it.
        below = set().union(*(other.in_archive() for other in (libraries.card, libraries.ring))) \
            if installed is libraries.rfm2g else set()
        expect(installed.in_archive() == declared | below,
               f"{installed.in_archive() ^ (declared | below)} is only in header or archive")
        expect(set(exported.values()) == {f"{installed.api}_1.0"}, f"{exported}")


def test_needs(libraries):
    """Only who has names for places needs a parser"""
    expect(libraries.regions.needs() == {"libyaml-0", "librfm", "libc"}, f"{libraries.regions.needs()}")
    expect(libraries.ring.needs() == {"libc"}, f"{libraries.ring.needs()}")
    expect(libraries.card.needs() == {"librfmring", "libc"}, f"{libraries.card.needs()}")
    expect(libraries.rfm2g.needs() == {"librfm", "libc"}, f"{libraries.rfm2g.needs()}")


def test_version(libraries):
    """VERSION is the one of the libraries and of the programs"""
    version = (TOP / "VERSION").read_text(encoding="ascii").strip()
    for installed in libraries.all:
        expect(installed.flags("--modversion") == [version], installed.name)
        expect(installed.library.resolve().name == f"{installed.library.name}.{version}",
               f"{installed.library.resolve()}")
    header = (libraries.card.root / "include" / "rfm" / "version.h").read_text(encoding="ascii")
    number = "0x" + "".join(f"{int(part):02x}" for part in version.split("."))
    expect(re.search(rf"RFM_VERSION\s+{number}\s", header) and f'"{version}"' in header, header)
    for program in ("rmctl", "rmnode", "rmhub"):
        expect(made(TOP / "build" / "tools" / program, "-V") == f"{program} {version}\n", program)


def test_pages(libraries):
    """Every call has a manual page that shows its prototype"""
    folder = TOP / "docs" / "man"
    for prefix in ("rfmring", "rfm"):
        calls = set().union(*(installed.declared() for installed in libraries.all
                              if installed.prefix == prefix))
        pages = {path.name for path in folder.glob(f"{prefix}_*.3")}
        expect({f"{name}.3" for name in calls} == pages, f"{ {f'{name}.3' for name in calls} ^ pages}")
        for call in calls:
            page = folder / f"{call}.3"
            first = page.read_text(encoding="utf-8").splitlines()[0]
            if first.startswith(".so "):
                page = folder / first.removeprefix(".so man3/")
            text = page.read_text(encoding="utf-8")
            expect(re.search(rf"^\.B .*\b{call}\(", text, re.M), f"{page.name} does not show {call}")


def test_header(libraries):
    """The headers compile alone, as C99 and as C++"""
    for installed in libraries.all:
        for language, standard in (("c", "-std=c99"), ("c++", "-std=c++11")):
            for header in installed.headers:
                made("cc", "-Wall", "-Wextra", "-Werror", "-pedantic", standard,
                     f"-I{installed.root}/include", "-x", language, "-fsyntax-only", header)


TESTS = [test_program, test_examples, test_all_three, test_between_files, test_without_header, test_growth,
         test_set_id, test_rfm2g_program, test_rfm2g_package, test_rfm2g_samples, test_symbols, test_needs, test_version,
         test_pages, test_header]

if __name__ == "__main__":
    tests = asked(TESTS, test_growth)
    plan(tests)
    with tempfile.TemporaryDirectory(prefix="library-test-") as place:
        sys.exit(bool(run(tests, Libraries(place))))
