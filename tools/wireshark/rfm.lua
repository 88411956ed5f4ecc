-- SPDX-License-Identifier: MIT
--
-- Wireshark dissector for captures of a reflective-memory ring: link type
-- USER0, each packet one frame or link message of protocol version 6.
-- docs/ring-protocol.md has the layout, docs/capture.md how to use this.

local VERSION = 6
local FRAME_HEADER = 48
local LINK_MESSAGE = 40
local FRAME_MAGIC = 0x4652 -- "RF" on the wire
local LINK_MAGIC = 0x4c52 -- "RL"
local RING_SPACE = 0x10000000
local DATA, INTERRUPT, HEARTBEAT, DUPLICATE, BREAK, FENCE, MULTICAST, TRAIN = 1, 2, 3, 4, 5, 6, 7, 8
local QUERY, ANSWER, PACKET = 9, 10, 11
local FRAME_DATA = 64
local PACKET_PIECES = 32
local HOPS = 0x3fff
local HELLO, WELCOME, REFUSE, LIGHT = 1, 2, 3, 4

local rfm = Proto("rfm", "Reflective memory ring")

local type_names = {
	[DATA] = "DATA", [INTERRUPT] = "INTERRUPT", [HEARTBEAT] = "HEARTBEAT",
	[DUPLICATE] = "DUPLICATE", [BREAK] = "BREAK", [FENCE] = "FENCE",
	[MULTICAST] = "MULTICAST", [TRAIN] = "TRAIN", [QUERY] = "QUERY", [ANSWER] = "ANSWER",
	[PACKET] = "PACKET",
}
-- bytes of data that a type may have
local type_lengths = {
	[DATA] = { 1, 64 }, [INTERRUPT] = { 4, 4 }, [HEARTBEAT] = { 0, 0 },
	[DUPLICATE] = { 8, 8 }, [BREAK] = { 0, 0 }, [FENCE] = { 8, 8 },
	[MULTICAST] = { 36, 36 }, [TRAIN] = { 1, 64 }, -- of its last frame
	[QUERY] = { 16, 16 }, [ANSWER] = { 24, 24 }, [PACKET] = { 1, 64 }, -- of its last piece
}
local class_names = {
	[0] = "message", [1] = "request", [2] = "answer", [3] = "Ethernet",
}
local interrupt_names = {
	[0] = "reset request", [1] = "interrupt 1", [2] = "interrupt 2", [3] = "interrupt 3",
	[4] = "reserved", [5] = "reserved", [6] = "reserved", [7] = "interrupt 4",
}
local link_names = {
	[HELLO] = "HELLO", [WELCOME] = "WELCOME", [REFUSE] = "REFUSE", [LIGHT] = "LIGHT",
}
local light_names = { [0] = "off", [1] = "on" }
local refuse_names = {
	[1] = "another version of the protocol",
	[2] = "no certificate",
	[3] = "a certificate that is not valid now",
	[4] = "a certificate that it does not trust",
	[5] = "a certificate that does not allow its node id",
}
local status_names = { [0] = "Bad", [1] = "Good" }

local f = {
	magic = ProtoField.uint16("rfm.magic", "Magic", base.HEX),
	version = ProtoField.uint8("rfm.version", "Version"),

	type = ProtoField.uint8("rfm.type", "Type", base.DEC, type_names),
	source = ProtoField.uint8("rfm.source", "Source node"),
	dest = ProtoField.uint8("rfm.dest", "Destination node"),
	kind = ProtoField.uint8("rfm.kind", "Kind", base.HEX, nil, 0x0f),
	flags = ProtoField.uint8("rfm.flags", "Flags", base.HEX, nil, 0xf0),
	redundant = ProtoField.bool("rfm.flags.redundant", "Redundant mode", 8, nil, 0x10),
	second = ProtoField.bool("rfm.flags.second", "Second copy", 8, nil, 0x20),
	first = ProtoField.bool("rfm.flags.first", "First of what it is a part of", 8, nil, 0x40),
	last = ProtoField.bool("rfm.flags.last", "Last of that", 8, nil, 0x80),
	frames = ProtoField.uint8("rfm.frames", "Frames"),
	length = ProtoField.uint8("rfm.length", "Length of data"),
	address = ProtoField.uint32("rfm.address", "Address", base.HEX),
	clock_domain = ProtoField.uint32("rfm.clock_domain", "Clock domain", base.HEX),
	incarnation = ProtoField.uint64("rfm.incarnation", "Incarnation", base.HEX),
	seq = ProtoField.uint64("rfm.seq", "Number"),
	time = ProtoField.uint64("rfm.time", "Time at the originator (ns)"),
	check = ProtoField.uint32("rfm.check", "Check (CRC32C)", base.HEX),
	check_status = ProtoField.uint8("rfm.check.status", "Check status", base.DEC, status_names),
	hops = ProtoField.uint16("rfm.hops", "Hops", base.DEC, nil, HOPS),
	seen = ProtoField.bool("rfm.marks.seen", "Its destination passed it on", 16, nil, 0x4000),
	taken = ProtoField.bool("rfm.marks.taken", "... and had room for it", 16, nil, 0x8000),
	marks = ProtoField.uint8("rfm.marks", "Marks", base.HEX),
	rogue_0 = ProtoField.bool("rfm.marks.rogue0", "Passed rogue master 0", 8, nil, 0x01),
	rogue_1 = ProtoField.bool("rfm.marks.rogue1", "Passed rogue master 1", 8, nil, 0x02),
	paused = ProtoField.bool("rfm.marks.paused", "Passed a paused node", 8, nil, 0x04),
	unstored = ProtoField.bool("rfm.marks.unstored", "Passed a node that does not store it", 8,
		nil, 0x08),
	hubs = ProtoField.uint8("rfm.marks.hubs", "Passed hubs, modulo 16", base.DEC, nil, 0xf0),
	hop_check = ProtoField.uint8("rfm.hop_check", "Hop check", base.HEX),
	hop_check_status = ProtoField.uint8("rfm.hop_check.status", "Hop check status", base.DEC,
		status_names),
	data = ProtoField.bytes("rfm.data", "Data"),
	interrupt_type = ProtoField.uint8("rfm.interrupt.type", "Interrupt", base.DEC,
		interrupt_names, 0x07),
	interrupt_global = ProtoField.bool("rfm.interrupt.global", "For all nodes", 8, nil, 0x08),
	interrupt_data = ProtoField.uint32("rfm.interrupt.data", "Interrupt data", base.HEX),
	interrupt_set = ProtoField.bytes("rfm.interrupt.set", "Set of nodes"),
	interrupt_node = ProtoField.uint8("rfm.interrupt.node", "For node"),
	packet_class = ProtoField.uint8("rfm.packet.class", "Class", base.DEC, class_names, 0x03),
	packet_global = ProtoField.bool("rfm.packet.global", "For all nodes", 8, nil, 0x08),
	packet_stream = ProtoField.uint16("rfm.packet.stream", "Stream", base.HEX),
	packet_pieces = ProtoField.uint8("rfm.packet.pieces", "Pieces"),
	duplicate = ProtoField.uint64("rfm.duplicate.incarnation", "Incarnation that must leave",
		base.HEX),
	fence = ProtoField.uint64("rfm.fence.ticket", "Ticket", base.HEX),
	query_ticket = ProtoField.uint64("rfm.query.ticket", "Ticket", base.HEX),
	query_address = ProtoField.uint32("rfm.query.address", "Address asked for", base.HEX),
	query_length = ProtoField.uint32("rfm.query.length", "Bytes asked for"),
	answer_crc = ProtoField.uint32("rfm.answer.crc", "Digest (CRC32C)", base.HEX),
	answer_bytes = ProtoField.uint16("rfm.answer.bytes", "Bytes in its memory"),
	answer_paused = ProtoField.bool("rfm.answer.paused", "Paused", 16, nil, 0x0001),
	answer_first = ProtoField.bytes("rfm.answer.first", "The first of them"),

	link_kind = ProtoField.uint8("rfm.link.kind", "Kind", base.DEC, link_names),
	link_node = ProtoField.uint8("rfm.link.node", "Node"),
	link_value = ProtoField.uint8("rfm.link.value", "Value", base.HEX),
	link_light = ProtoField.uint8("rfm.link.light", "Light", base.DEC, light_names),
	link_reason = ProtoField.uint8("rfm.link.reason", "Reason", base.DEC, refuse_names),
	link_hub = ProtoField.bool("rfm.link.hub", "A hub", 8, nil, 0x01),
	link_redundant = ProtoField.bool("rfm.link.redundant", "Redundant mode", 8, nil, 0x02),
	link_shm = ProtoField.bool("rfm.link.shm", "Shared memory", 8, nil, 0x04),
	link_memory = ProtoField.uint64("rfm.link.memory_size", "Memory (bytes)"),
	spare = ProtoField.bytes("rfm.spare", "Spare"),
}
-- pairs() has no order of its own; Wireshark does not mind.
local all_fields = {}
for _, field in pairs(f) do
	all_fields[#all_fields + 1] = field
end
rfm.fields = all_fields

local e = {
	foreign = ProtoExpert.new("rfm.foreign", "Neither a frame nor a link message",
		expert.group.MALFORMED, expert.severity.ERROR),
	version = ProtoExpert.new("rfm.version.other", "Another version of the protocol",
		expert.group.PROTOCOL, expert.severity.ERROR),
	type = ProtoExpert.new("rfm.type.unknown", "Unknown type",
		expert.group.MALFORMED, expert.severity.ERROR),
	length = ProtoExpert.new("rfm.length.bad", "A length that the type cannot have",
		expert.group.MALFORMED, expert.severity.ERROR),
	cut = ProtoExpert.new("rfm.cut", "Not whole", expert.group.MALFORMED, expert.severity.ERROR),
	behind = ProtoExpert.new("rfm.behind", "Bytes behind the end",
		expert.group.MALFORMED, expert.severity.WARN),
	check = ProtoExpert.new("rfm.check.bad", "The check is wrong: damaged on the way",
		expert.group.CHECKSUM, expert.severity.ERROR),
	hop_check = ProtoExpert.new("rfm.hop_check.bad", "The hop check is wrong: damaged on the way",
		expert.group.CHECKSUM, expert.severity.ERROR),
	beyond = ProtoExpert.new("rfm.address.beyond", "Past the end of the network's 256 MiB",
		expert.group.PROTOCOL, expert.severity.ERROR),
	refused = ProtoExpert.new("rfm.link.refused", "The neighbour refuses the link",
		expert.group.RESPONSE_CODE, expert.severity.WARN),
	broken = ProtoExpert.new("rfm.broken", "The ring is broken before this node",
		expert.group.SEQUENCE, expert.severity.WARN),
	twin = ProtoExpert.new("rfm.duplicate.id", "Two nodes have one id",
		expert.group.PROTOCOL, expert.severity.WARN),
}
local all_experts = {}
for _, entry in pairs(e) do
	all_experts[#all_experts + 1] = entry
end
rfm.experts = all_experts

-- Lua 5.2 has bit32, Wireshark of any version a bit, which answers with a sign.
local bits = bit32 or bit

local function unsigned(n)
	return n % 0x100000000
end

local function band(a, b)
	return unsigned(bits.band(a, b))
end

local function bxor(a, b)
	return unsigned(bits.bxor(a, b))
end

local function rshift(a, n)
	return unsigned(bits.rshift(a, n))
end

local function bnot(a)
	return unsigned(bits.bnot(a))
end

local function btest(a, b)
	return band(a, b) ~= 0
end

-- CRC-32C, reflected

local crc_table = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		local low = band(c, 1)
		c = rshift(c, 1)
		if low == 1 then
			c = bxor(c, 0x82f63b78)
		end
	end
	crc_table[i] = c
end

-- of the bytes of several ranges, as if they stood behind each other
local function crc32c(...)
	local crc = 0xffffffff
	for _, range in ipairs({ ... }) do
		local bytes = range:bytes()
		for i = 0, bytes:len() - 1 do
			local index = band(bxor(crc, bytes:get_index(i)), 0xff)
			crc = bxor(rshift(crc, 8), crc_table[index])
		end
	end
	return bnot(crc)
end

-- A check field, its status, and a complaint if it is not @expected. Returns whether it is good.
local function add_check(tree, field, status, complaint, range, expected, digits)
	local good = range:le_uint() == expected
	local item = tree:add_le(field, range)
	if good then
		item:append_text(" [correct]")
	else
		item:append_text(string.format(" [should be 0x%0" .. digits .. "x]", expected))
		item:add_proto_expert_info(complaint)
	end
	item:add(status, range, good and 1 or 0):set_generated()
	return good
end

-- frames

local function add_kind(tree, buf, type)
	local item = tree:add(f.flags, buf(6, 1))
	item:add(f.redundant, buf(6, 1))
	item:add(f.second, buf(6, 1))
	if type == PACKET then
		item:add(f.first, buf(6, 1))
		item:add(f.last, buf(6, 1))
	end
	item = tree:add(f.kind, buf(6, 1))
	if type == PACKET then
		item:add(f.packet_global, buf(6, 1))
		item:add(f.packet_class, buf(6, 1))
	end
	if type == INTERRUPT then
		item:add(f.interrupt_global, buf(6, 1))
	end
	if type == INTERRUPT or type == MULTICAST then
		item:add(f.interrupt_type, buf(6, 1))
	end
end

-- Which nodes are in a set; returns their numbers as a text.
local function add_set(tree, set)
	local item = tree:add(f.interrupt_set, set)
	local nodes = {}
	for node = 0, set:len() * 8 - 1 do
		local byte = set(math.floor(node / 8), 1)
		if btest(byte:uint(), 2 ^ (node % 8)) then
			item:add(f.interrupt_node, byte, node)
			nodes[#nodes + 1] = node
		end
	end
	return table.concat(nodes, ",")
end

local function add_path(tree, buf, type)
	tree:add_le(f.hops, buf(44, 2))
	if type == PACKET then
		tree:add_le(f.seen, buf(44, 2))
		tree:add_le(f.taken, buf(44, 2))
	end
	local item = tree:add(f.marks, buf(46, 1))
	item:add(f.rogue_0, buf(46, 1))
	item:add(f.rogue_1, buf(46, 1))
	item:add(f.paused, buf(46, 1))
	item:add(f.unstored, buf(46, 1))
	item:add(f.hubs, buf(46, 1))
	local sum = buf(44, 1):uint() * 3 + buf(45, 1):uint() * 7 + buf(46, 1):uint() * 11
	return add_check(tree, f.hop_check, f.hop_check_status, e.hop_check, buf(47, 1),
		band(bnot(sum), 0xff), 2)
end

-- For whom a packet is, which part it is of what, and what its destination says.
local function packet_words(buf, length)
	local kind, marks = buf(6, 1):uint(), buf(45, 1):uint()
	local first, last = btest(kind, 0x40), btest(kind, 0x80)
	local part = first and last and "" or first and ", first" or last and ", last" or ", middle"
	local verdict = btest(marks, 0x80) and ", taken" or btest(marks, 0x40) and ", seen, no room"
		or ", not seen"
	if btest(kind, 8) then -- then it says nothing
		verdict = ""
	end
	return string.format("%s to %s, stream 0x%04x, %d bytes%s%s", class_names[band(kind, 3)],
		btest(kind, 8) and "all" or "node " .. buf(5, 1):uint(), buf(8, 2):le_uint(),
		length, part, verdict)
end

-- What the data of a frame means; returns a few words about it.
local function add_data(tree, buf, type, length)
	local data = length > 0 and buf(FRAME_HEADER, length)
	if data then
		tree:add(f.data, data)
	end
	if type == DATA or type == TRAIN then
		local address = buf(8, 4):le_uint()
		return string.format("0x%07x, %d bytes", address, length)
	elseif type == INTERRUPT then
		local kind = buf(6, 1):uint()
		tree:add_le(f.interrupt_data, data)
		return string.format("%s to %s, data 0x%08x",
			interrupt_names[band(kind, 7)],
			btest(kind, 8) and "all" or "node " .. buf(5, 1):uint(), data:le_uint())
	elseif type == MULTICAST then
		local value = buf(FRAME_HEADER, 4)
		tree:add_le(f.interrupt_data, value)
		return string.format("%s to nodes %s, data 0x%08x",
			interrupt_names[band(buf(6, 1):uint(), 7)],
			add_set(tree, buf(FRAME_HEADER + 4, length - 4)), value:le_uint())
	elseif type == DUPLICATE then
		tree:add_le(f.duplicate, data):add_proto_expert_info(e.twin)
		return "incarnation 0x" .. data:le_uint64():tohex() .. " must leave"
	elseif type == FENCE then
		tree:add_le(f.fence, data)
		return "ticket 0x" .. data:le_uint64():tohex()
	elseif type == QUERY then
		local address, count = buf(FRAME_HEADER + 8, 4), buf(FRAME_HEADER + 12, 4)
		tree:add_le(f.query_ticket, buf(FRAME_HEADER, 8))
		tree:add_le(f.query_address, address)
		tree:add_le(f.query_length, count)
		return string.format("0x%07x, %d bytes?", address:le_uint(), count:le_uint())
	elseif type == ANSWER then
		local crc, count = buf(FRAME_HEADER + 8, 4), buf(FRAME_HEADER + 12, 2)
		local flags = buf(FRAME_HEADER + 14, 2)
		tree:add_le(f.query_ticket, buf(FRAME_HEADER, 8))
		tree:add_le(f.answer_crc, crc)
		tree:add_le(f.answer_bytes, count)
		tree:add_le(f.answer_paused, flags)
		tree:add(f.answer_first, buf(FRAME_HEADER + 16, 8))
		return string.format("0x%08x of %d bytes%s", crc:le_uint(), count:le_uint(),
			btest(flags:le_uint(), 1) and ", paused" or "")
	elseif type == PACKET then
		return packet_words(buf, length)
	elseif type == BREAK then
		tree:add_proto_expert_info(e.broken)
		return "its receiver has no signal"
	end
	return "alive"
end

local function address_columns(pinfo, buf, type)
	pinfo.cols.src = "node " .. buf(4, 1):uint()
	if type == ANSWER or
		((type == INTERRUPT or type == PACKET) and not btest(buf(6, 1):uint(), 8)) then
		pinfo.cols.dst = "node " .. buf(5, 1):uint()
	else
		pinfo.cols.dst = "all"
	end
end

-- Returns the number of bytes that belong to the frame.
local function dissect_frame(buf, pinfo, tree)
	tree:add_le(f.magic, buf(0, 2))
	if buf:len() < FRAME_HEADER then
		tree:add_proto_expert_info(e.cut)
		pinfo.cols.info = "frame, not whole"
		return buf:len()
	end
	local version = tree:add(f.version, buf(2, 1))
	if buf(2, 1):uint() ~= VERSION then
		version:add_proto_expert_info(e.version)
		pinfo.cols.info = "frame of another version"
		return buf:len()
	end
	local type, length = buf(3, 1):uint(), buf(7, 1):uint()
	local limits = type_lengths[type]
	local type_item = tree:add(f.type, buf(3, 1))
	if not limits then
		type_item:add_proto_expert_info(e.type)
		pinfo.cols.info = "frame of an unknown type"
		return buf:len()
	end
	tree:add(f.source, buf(4, 1))
	tree:add(type == TRAIN and f.frames or f.dest, buf(5, 1))
	add_kind(tree, buf, type)
	local length_item = tree:add(f.length, buf(7, 1))
	if length < limits[1] or length > limits[2] then
		length_item:add_proto_expert_info(e.length)
		pinfo.cols.info = type_names[type] .. " of a length it cannot have"
		return buf:len()
	end
	if type == TRAIN then -- written whole only if damaged, so the number may be anything
		length = length + math.max(buf(5, 1):uint() - 1, 0) * FRAME_DATA
	end
	if type == PACKET then
		local pieces = buf(10, 1):uint()
		tree:add_le(f.packet_stream, buf(8, 2))
		local pieces_item = tree:add(f.packet_pieces, buf(10, 1))
		if pieces < 1 or pieces > PACKET_PIECES then
			pieces_item:add_proto_expert_info(e.length)
			pinfo.cols.info = "PACKET of a length it cannot have"
			return buf:len()
		end
		tree:add(f.spare, buf(11, 1))
		length = length + (pieces - 1) * FRAME_DATA
	else
		local address = tree:add_le(f.address, buf(8, 4))
		if (type == DATA or type == TRAIN) and buf(8, 4):le_uint() + length > RING_SPACE then
			address:add_proto_expert_info(e.beyond)
		end
	end
	tree:add_le(f.clock_domain, buf(12, 4))
	tree:add_le(f.incarnation, buf(16, 8))
	tree:add_le(f.seq, buf(24, 8))
	tree:add_le(f.time, buf(32, 8))
	if buf:len() < FRAME_HEADER + length then
		tree:add_proto_expert_info(e.cut)
		pinfo.cols.info = type_names[type] .. ", not whole"
		return buf:len()
	end
	local good
	if length > 0 then
		good = crc32c(buf(0, 40), buf(FRAME_HEADER, length))
	else
		good = crc32c(buf(0, 40))
	end
	good = add_check(tree, f.check, f.check_status, e.check, buf(40, 4), good, 8)
	good = add_path(tree, buf, type) and good
	local words = add_data(tree, buf, type, length)
	address_columns(pinfo, buf, type)
	pinfo.cols.info = string.format("%s%s #%s %s, hops %d%s", good and "" or "DAMAGED ",
		type_names[type], tostring(buf(24, 8):le_uint64()), words,
		band(buf(44, 2):le_uint(), HOPS),
		btest(buf(6, 1):uint(), 0x20) and ", second copy" or "")
	return FRAME_HEADER + length
end

-- link messages

local function add_value(tree, buf, kind)
	local value = buf(5, 1):uint()
	if kind == LIGHT then
		tree:add(f.link_light, buf(5, 1))
		return light_names[value] or "?"
	elseif kind == REFUSE then
		tree:add(f.link_reason, buf(5, 1)):add_proto_expert_info(e.refused)
		return refuse_names[value] or "for a reason of its own"
	end
	local item = tree:add(f.link_value, buf(5, 1))
	item:add(f.link_hub, buf(5, 1))
	item:add(f.link_redundant, buf(5, 1))
	item:add(f.link_shm, buf(5, 1))
	return (btest(value, 1) and "hub" or "node " .. buf(4, 1):uint())
		.. (btest(value, 2) and ", redundant" or "")
		.. (btest(value, 4) and ", shared memory" or "")
end

local function dissect_link(buf, pinfo, tree)
	tree:add_le(f.magic, buf(0, 2))
	if buf:len() < LINK_MESSAGE then
		tree:add_proto_expert_info(e.cut)
		pinfo.cols.info = "link message, not whole"
		return buf:len()
	end
	local version = tree:add(f.version, buf(2, 1))
	if buf(2, 1):uint() ~= VERSION then
		version:add_proto_expert_info(e.version)
	end
	local kind = buf(3, 1):uint()
	local kind_item = tree:add(f.link_kind, buf(3, 1))
	if not link_names[kind] then
		kind_item:add_proto_expert_info(e.type)
	end
	tree:add(f.link_node, buf(4, 1))
	local words = add_value(tree, buf, kind)
	tree:add(f.spare, buf(6, 2))
	tree:add_le(f.incarnation, buf(8, 8))
	tree:add_le(f.link_memory, buf(16, 8))
	tree:add_le(f.clock_domain, buf(24, 4))
	tree:add(f.spare, buf(28, 8))
	local good = add_check(tree, f.check, f.check_status, e.check, buf(36, 4),
		crc32c(buf(0, 36)), 8)
	pinfo.cols.src = "neighbour"
	pinfo.cols.dst = "neighbour"
	pinfo.cols.info = string.format("%sLINK %s %s", good and "" or "DAMAGED ",
		link_names[kind] or kind, words)
	return LINK_MESSAGE
end

function rfm.dissector(buf, pinfo, root)
	local tree = root:add(rfm, buf())
	local magic = buf:len() >= 2 and buf(0, 2):le_uint()
	local taken

	pinfo.cols.protocol = "RFM"
	if magic == FRAME_MAGIC then
		taken = dissect_frame(buf, pinfo, tree)
	elseif magic == LINK_MAGIC then
		taken = dissect_link(buf, pinfo, tree)
	else
		tree:add_proto_expert_info(e.foreign)
		pinfo.cols.info = "neither a frame nor a link message"
		return
	end
	if taken < buf:len() then
		tree:add_proto_expert_info(e.behind)
	end
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, rfm)
