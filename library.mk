# SPDX-License-Identifier: MIT
# What the Makefiles of librfm, librfmregions and librfmring have in common. Each says, for
# a library NAME:
#
#	objects_NAME	what it is made of
#	map_NAME	its version script: what it exports
#	description_NAME  of the pkg-config file
#	libs_NAME	what it is linked with
#	rpath_NAME	how it finds those beside it, wherever they are installed
#	requires_NAME	the pkg-config files of those of them that have one, else
#	private_NAME	... what a static program needs besides
#	archives_NAME	others that go into its archive, for programs that name no other
#
# and evaluates $(call library_rules,NAME), which makes $(OUT)/libNAME.a, .so and NAME.pc,
# and the target install-NAME.

version := $(file <$(top)/VERSION)
abi := $(firstword $(subst ., ,$(version)))
version_number := $(shell printf '0x%02x%02x%02x' $(subst ., ,$(version)))

# Those of the compiler, which may be one for another machine.
ifeq ($(origin AR),default)
AR := $(shell $(CC) -print-prog-name=ar)
endif
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
# By the compiler, for objects may be its own affair until they are linked.
link_objects = $(CC) $(CFLAGS) $(if $(findstring -flto,$(CFLAGS)),-flinker-output=nolto-rel) -r -nostdlib

define library_rules
made += $(OUT)/lib$1.a $(OUT)/lib$1.so.$(version) $(OUT)/$1.pc

# One object, in which what the headers do not mark is local: a program that is linked
# statically sees what one that is linked dynamically does.
$(OUT)/lib$1.a: $(objects_$1) $(top)/library.mk
	$$(link_objects) -o $$@.o $(objects_$1)
	$(OBJCOPY) --localize-hidden $$@.o
	rm -f $$@
	cd $(OUT) && for archive in $(archives_$1); do $(AR) x $$$$archive || exit; done
	$(AR) rcs $$@ $$@.o $(patsubst %,$(OUT)/%.o,$(notdir $(archives_$1)))
	rm $$@.o $(patsubst %,$(OUT)/%.o,$(notdir $(archives_$1)))

$(OUT)/lib$1.so.$(version): $(objects_$1) $(map_$1) $(top)/library.mk
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,lib$1.so.$(abi) -Wl,--no-undefined \
		-Wl,--version-script=$(map_$1) $(rpath_$1) -o $$@ $(objects_$1) $(libs_$1)
	ln -sf $$(@F) $(OUT)/lib$1.so.$(abi)
	ln -sf $$(@F) $(OUT)/lib$1.so

# The directories are those of this call, so it is always written anew.
.PHONY: $(OUT)/$1.pc
$(OUT)/$1.pc:
	@mkdir -p $$(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$$$${prefix}/include' '' \
		'Name: $1' 'Description: $(description_$1)' 'Version: $(version)' \
		'Requires.private: $(requires_$1)' 'Libs: -L$$$${libdir} -l$1' \
		'Libs.private: $(private_$1)' 'Cflags: -I$$$${includedir}' > $$@

.PHONY: install-$1
install: install-$1
install-$1: $(OUT)/lib$1.a $(OUT)/lib$1.so.$(version) $(OUT)/$1.pc
	install -D -m 644 $(OUT)/lib$1.a $(DESTDIR)$(LIBDIR)/lib$1.a
	install -D -m 755 $(OUT)/lib$1.so.$(version) $(DESTDIR)$(LIBDIR)/lib$1.so.$(version)
	ln -sf lib$1.so.$(version) $(DESTDIR)$(LIBDIR)/lib$1.so.$(abi)
	ln -sf lib$1.so.$(abi) $(DESTDIR)$(LIBDIR)/lib$1.so
	install -D -m 644 $(OUT)/$1.pc $(DESTDIR)$(LIBDIR)/pkgconfig/$1.pc
endef
