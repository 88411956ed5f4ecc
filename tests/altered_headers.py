# SPDX-License-Identifier: MIT
"""Headers of a kernel that Debian does not have: those of one that it has, altered to be like them.

Only what the driver calls is altered, and only declarations: nothing that is built with them is run.
What changed when is from the kernel's history; what Enterprise Linux 9 has taken from later kernels
(its block layer, memory management and networking are of 6.x) from drivers that are built for it.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass

COMMON = "usr/src/linux-headers-*-common"


@dataclass
class Altered:
    base: str
    version: tuple
    edits: tuple = ()       # (header, pattern, replacement), nothing: it goes
    later: tuple = ()       # headers of a later kernel in their place, before that
    later_kernel: str = ""
    exports: tuple = ()     # what the base does not


RB_ADD = """static __always_inline void rb_add(struct rb_node *node, struct rb_root *tree,
	bool (*less)(struct rb_node *, const struct rb_node *))
{
	struct rb_node **link = &tree->rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = less(node, parent) ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, tree);
}

"""

VM_FLAGS_MOD = r"""static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vm_flags_t flags = (vma->vm_flags | set) & ~clear;

	memcpy((void *)&vma->vm_flags, &flags, sizeof(flags));
}

\g<0>"""

ALTERED = {
    # 5.12 has rb_add().
    "5.14": Altered("5.10", (5, 14, 0), (
        ("linux/rbtree.h", r"(?=#endif\s*/\* _LINUX_RBTREE_H \*/)", RB_ADD),
    )),
    # 5.16 has another way to fault buffers in, which stable 5.15 has taken over; 5.17
    # pm_sleep_ptr(), which Debian's newest 5.10 have taken over.
    "5.15": Altered("5.10", (5, 15, 0), (
        ("linux/rbtree.h", r"(?=#endif\s*/\* _LINUX_RBTREE_H \*/)", RB_ADD),
        ("linux/uio.h", r"int iov_iter_fault_in_readable\(struct iov_iter \*i, size_t bytes\);",
         "size_t fault_in_iov_iter_readable(const struct iov_iter *i, size_t bytes);\n"
         "size_t fault_in_iov_iter_writeable(const struct iov_iter *i, size_t bytes);"),
        ("linux/pm.h", r"#define pm_sleep_ptr\(.*\n", ""),
    ), exports=("fault_in_iov_iter_readable", "fault_in_iov_iter_writeable")),
    # The number of 5.14, and what came with 6.2 to 6.8.
    "5.14-el9": Altered("6.1", (5, 14, 0), (
        ("linux/mm.h", r"static inline bool vma_is_anonymous\(", VM_FLAGS_MOD),
        ("linux/mm_types.h", r"\tunsigned long vm_flags;", "\tconst vm_flags_t vm_flags;"),
        ("linux/mm.h", r"(long pin_user_pages\([^)]*struct page \*\*pages),\s*struct vm_area_struct \*\*vmas\)",
         r"\1)"),
        ("linux/mm.h", r"int pin_user_pages_fast_only\([^)]*\);", ""),
        ("linux/eventfd.h", r"__u64 eventfd_signal\(struct eventfd_ctx \*ctx, __u64 n\);",
         "void eventfd_signal(struct eventfd_ctx *ctx);"),
        ("net/netlink.h", r"\bkmemdup_noprof\(", "kmemdup("),
    ), ("linux/netlink.h", "uapi/linux/netlink.h", "net/netlink.h", "net/genetlink.h",
        "uapi/linux/genetlink.h"), "6.12", ("netlink_broadcast_filtered",)),
}


def edit(include, header, pattern, replacement):
    path = include / header
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), count=1)
    if not count and replacement:       # what is to go may have gone
        raise RuntimeError(f"{path}: nothing is {pattern}")
    path.write_text(text, encoding="utf-8")


def number(version):
    major, minor, patch = version
    return (f"#define LINUX_VERSION_CODE {(major << 16) + (minor << 8) + patch}\n"
            "#define KERNEL_VERSION(a,b,c) (((a) << 16) + ((b) << 8) + (c))\n")


def alter(name, base, target, kernel_get):
    """Makes `target` of the kernel in the folder `base`; returns what KDIR must be."""
    what = ALTERED[name]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    subprocess.run(["cp", "-a", base / "usr", base / "headers", target], check=True)
    subprocess.run(["chmod", "-R", "u+w", target], check=True)
    headers = target / "headers"
    makefile = headers / "Makefile"
    makefile.write_text(makefile.read_text().replace(str(base), str(target)))
    include = next(target.glob(COMMON)) / "include"
    if what.later:
        later = next(kernel_get(what.later_kernel).glob(COMMON)) / "include"
        for header in what.later:
            shutil.copyfile(later / header, include / header)
    for header, pattern, replacement in what.edits:
        edit(include, header, pattern, replacement)
    (headers / "include/generated/uapi/linux/version.h").write_text(number(what.version))
    with (headers / "Module.symvers").open("a", encoding="utf-8") as symbols:
        symbols.writelines(f"0x00000000\t{name}\tvmlinux\tEXPORT_SYMBOL\t\n" for name in what.exports)
    return headers
