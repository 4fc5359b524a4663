// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What each core was at when its clock interrupted it, counted in the kernel.
//
// Runs at each overflow of a perf event (cpu-clock) of one core, with interrupts off. It counts under a key; user space
// swaps the map of counts and drains the old one. Nothing here waits or loops without bound; what cannot be found out
// is left 0 and counted in `losses`. Structures of the kernel are declared with the fields that are used, and moved to where the
// running kernel has them (CO-RE). The layouts of key and values are those of src/system/bpf/layout.rs.
//
// Built by scripts/bpf.sh; it includes nothing, so that the same compiler gives the same bytes everywhere.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

// Forms of a map's definition.
#define UINT(name, value) int (*name)[value]
#define TYPE(name, value) value *name

enum { HASH = 1, PERF_EVENT_ARRAY = 4, PERCPU_ARRAY = 6, LRU_HASH = 9, ARRAY_OF_MAPS = 12 };

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*bpf_get_current_uid_gid)(void) = (void *)15;
static u64 (*bpf_get_current_cgroup_id)(void) = (void *)80;
static long (*bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_perf_event_read_value)(void *map, u64 index, void *value, u32 size) = (void *)55;
static long (*bpf_find_vma)(struct task_struct *task, u64 address, void *callback, void *context, u64 flags) = (void *)180;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qstr {
	const u8 *name;
};
struct dentry {
	struct qstr d_name;
};
struct path {
	struct dentry *dentry;
};
struct super_block {
	u32 s_dev;
};
struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};
struct file {
	struct inode *f_inode;
	struct path f_path;
};
struct mm_struct {
	struct file *exe_file;
};
struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct file *vm_file;
};
struct thread_struct {
	unsigned long fsbase;
};
struct task_struct {
	struct mm_struct *mm;
	struct task_struct *group_leader;
	char comm[16];
	struct thread_struct thread;
};
#pragma clang attribute pop

// What the program is called with: registers at the interrupt (x86-64's pt_regs first).
struct event {
	u64 general[16];
	u64 ip;
	u64 cs;
	u64 flags;
	u64 sp;
	u64 ss;
	u64 period;
	u64 address;
};

enum { IDLE = 0, USER = 1, KERNEL = 2 };

struct key {
	u64 exe_inode;
	u64 file_inode;
	u64 offset;
	u64 cgroup;
	u64 phase;
	u32 exe_device;
	u32 file_device;
	u32 core;
	u32 process;
	u32 activity;
	u32 user;
	char name[16];
};

struct file_id {
	u64 inode;
	u64 device;
};

enum { NAME = 64 };

struct file_name {
	char bytes[NAME];
};

// Where the pointer to the thread's record is, from the thread pointer, and which attribute of it is the phase.
struct tls {
	s64 offset;
	u64 attribute;
};

// OpenTelemetry's thread context (OTEP 4947), as its head lies in memory.
struct record {
	u8 trace[16];
	u8 span[8];
	u8 valid;
	u8 flags;
	u16 size;
};

enum { ATTRIBUTES = 512, MOST_ATTRIBUTES = 16, TEXT = 64 };

struct scratch {
	u8 bytes[ATTRIBUTES + 2 * TEXT];
	u64 length;
	u8 text[TEXT];
};

struct text {
	u64 length;
	u8 bytes[TEXT];
};

struct counts {
	UINT(type, HASH);
	UINT(max_entries, 1024);
	UINT(key_size, sizeof(struct key));
	UINT(value_size, sizeof(u64));
};
struct counts counts_0 SEC(".maps");
struct counts counts_1 SEC(".maps");

// The map that is counted in. User space puts the other one here: the kernel waits, before it says that this is done, until no
// program runs that could have seen the old one.
struct {
	UINT(type, ARRAY_OF_MAPS);
	UINT(max_entries, 1);
	TYPE(key, u32);
	struct counts *values[];
} current SEC(".maps");

struct {
	UINT(type, LRU_HASH);
	UINT(max_entries, 4096);
	TYPE(key, struct file_id);
	TYPE(value, struct file_name);
} names SEC(".maps");

struct {
	UINT(type, LRU_HASH);
	UINT(max_entries, 1024);
	TYPE(key, u64);
	TYPE(value, struct text);
} phases SEC(".maps");

struct {
	UINT(type, HASH);
	UINT(max_entries, 8192);
	TYPE(key, u32);
	TYPE(value, struct tls);
} threads SEC(".maps");

struct {
	UINT(type, PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct scratch);
} scratches SEC(".maps");

// What each core found lately. To look up a mapping takes the lock of the process's memory, and to give that back from within an interrupt takes
// another interrupt, which is most of a sample's cost at high rates. What a process maps elsewhere is seen after STALE at the latest; samples
// that are further apart are all looked up.
enum { PLACES = 64, STALE = 500000000 };

struct place {
	u64 memory;
	u64 exe_inode;
	u64 begin;
	u64 end;
	u64 shift;
	u64 inode;
	u64 device;
	u64 until;
};

struct {
	UINT(type, PERCPU_ARRAY);
	UINT(max_entries, PLACES);
	TYPE(key, u32);
	TYPE(value, struct place);
} places SEC(".maps");

// Counters that are read at each sample, and the longest time between two samples in a row. Both are set before the program is loaded: without
// counters the verifier takes out all that follows from them.
enum { COUNTERS = 8 };
const volatile u32 counters = 0;
const volatile u64 longest = 0;

// The events of a counter, one a core: the loader makes such arrays as long as there are cores.
struct events {
	UINT(type, PERF_EVENT_ARRAY);
	UINT(max_entries, 1);
	UINT(key_size, sizeof(u32));
	UINT(value_size, sizeof(u32));
};
struct events events_0 SEC(".maps");
struct events events_1 SEC(".maps");
struct events events_2 SEC(".maps");
struct events events_3 SEC(".maps");
struct events events_4 SEC(".maps");
struct events events_5 SEC(".maps");
struct events events_6 SEC(".maps");
struct events events_7 SEC(".maps");

#define CURRENT_CPU 0xffffffff

// As bpf_perf_event_read_value gives it; never enabled where it could not be read.
struct value {
	u64 count;
	u64 enabled;
	u64 running;
};

struct sum {
	u64 samples;
	u64 nanos;
	u64 count;
};

struct sums {
	struct sum of[COUNTERS];
};

// The last samples of a core: their number, how many of them are in a row, and what the last one hit.
struct row {
	u64 number;
	u64 length;
	u64 times[4];
	struct value values[4][COUNTERS];
	struct key key;
	struct sums none;
};

struct {
	UINT(type, PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct row);
} rows SEC(".maps");

struct rates {
	UINT(type, HASH);
	UINT(max_entries, 1);
	UINT(key_size, sizeof(struct key));
	UINT(value_size, sizeof(struct sums));
};
struct rates rates_0 SEC(".maps");
struct rates rates_1 SEC(".maps");

struct {
	UINT(type, ARRAY_OF_MAPS);
	UINT(max_entries, 1);
	TYPE(key, u32);
	struct rates *values[];
} current_rates SEC(".maps");

// Of each core: samples, samples without room, addresses whose file could not be looked up, phases that could not be read; counters that were
// less than before, that did not run, and rates without room.
enum { SAMPLES, FULL, NO_MAPPING, NO_PHASE, RESET, UNCOUNTED, NO_RATE, BEYOND, LOSSES };

struct {
	UINT(type, PERCPU_ARRAY);
	UINT(max_entries, LOSSES);
	TYPE(key, u32);
	TYPE(value, u64);
} losses SEC(".maps");

INLINE void count(u32 what)
{
	u64 *number = bpf_map_lookup_elem(&losses, &what);
	if (number)
		*number += 1;
}

// Keeps the last part of a file's path, for when its processes are gone.
INLINE void keep_name(struct file *file, u64 inode, u32 device)
{
	struct file_id id = {.inode = inode, .device = device};
	if (bpf_map_lookup_elem(&names, &id))
		return;
	struct file_name name = {};
	bpf_probe_read_kernel_str(name.bytes, NAME, file->f_path.dentry->d_name.name);
	bpf_map_update_elem(&names, &id, &name, 0);
}

static long found(struct task_struct *task, struct vm_area_struct *vma, struct place *place)
{
	struct file *file = vma->vm_file;
	place->begin = vma->vm_start;
	place->end = vma->vm_end;
	if (!file)
		return 0;
	struct inode *inode = file->f_inode;
	place->inode = inode->i_ino;
	place->device = inode->i_sb->s_dev;
	place->shift = ((u64)vma->vm_pgoff << 12) - vma->vm_start;
	keep_name(file, place->inode, place->device);
	return 0;
}

// The file of a user's address and where in it that lies.
INLINE void find(struct task_struct *task, u64 ip, u64 memory, struct key *key)
{
	u64 now = bpf_ktime_get_ns();
	u32 number = ((ip >> 16) ^ (memory >> 8)) & (PLACES - 1);
	struct place *known = bpf_map_lookup_elem(&places, &number);
	if (!known)
		return;
	if (known->memory != memory || known->exe_inode != key->exe_inode || ip < known->begin || ip >= known->end ||
	    now >= known->until) {
		struct place place = {.memory = memory, .exe_inode = key->exe_inode, .until = now + STALE};
		if (bpf_find_vma(task, ip, found, &place, 0))
			count(NO_MAPPING);
		*known = place;
	}
	if (!known->inode)
		return;
	key->file_inode = known->inode;
	key->file_device = known->device;
	key->offset = ip + known->shift;
}

// The id of the thread's phase: a hash of its text, FNV-1a, never 0. The text is kept beside.
INLINE u64 phase_of(struct task_struct *task, u32 process)
{
	struct tls *tls = bpf_map_lookup_elem(&threads, &process);
	if (!tls)
		return 0;
	u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	if (!scratch)
		return 0;
	u64 pointer = 0;
	struct record record;
	if (bpf_probe_read_user(&pointer, sizeof pointer, (void *)(task->thread.fsbase + tls->offset))) {
		count(NO_PHASE);
		return 0;
	}
	if (!pointer)
		return 0;
	if (bpf_probe_read_user(&record, sizeof record, (void *)pointer)) {
		count(NO_PHASE);
		return 0;
	}
	// Being written at this very moment, or empty: no phase.
	if (record.valid != 1 || !record.size)
		return 0;
	u32 size = record.size;
	if (size > ATTRIBUTES)
		size = ATTRIBUTES;
	if (bpf_probe_read_user(scratch->bytes, size, (void *)(pointer + sizeof record))) {
		count(NO_PHASE);
		return 0;
	}
	u32 at = 0;
	for (int i = 0; i < MOST_ATTRIBUTES; i++) {
		if (at + 2 > size)
			return 0;
		u8 key = scratch->bytes[at & (ATTRIBUTES - 1)];
		u32 length = scratch->bytes[(at & (ATTRIBUTES - 1)) + 1];
		at += 2;
		if (at + length > size)
			return 0;
		if (key == tls->attribute) {
			if (!length)
				return 0;
			if (length > TEXT)
				length = TEXT;
			struct text text = {.length = length};
			if (bpf_probe_read_kernel(text.bytes, length, &scratch->bytes[at & (ATTRIBUTES - 1)]))
				return 0;
			u64 hash = 0xcbf29ce484222325;
			for (int j = 0; j < TEXT; j++)
				hash = (hash ^ text.bytes[j]) * 0x100000001b3;
			if (!hash)
				hash = 1;
			if (!bpf_map_lookup_elem(&phases, &hash))
				bpf_map_update_elem(&phases, &hash, &text, 0);
			return hash;
		}
		at += length;
	}
	return 0;
}

// Adds what a counter did between two readings to what was hit in the middle. What it missed while others had the hardware is made up for,
// with 16 bits behind the point, in two parts: counts below 2^56 fit. What does not fit is left out.
INLINE void add_rate(struct sum *sum, struct value *now, struct value *before, u64 nanos)
{
	if (!now->enabled || !before->enabled)
		return;
	if (now->count < before->count || now->enabled < before->enabled || now->running < before->running) {
		count(RESET);
		return;
	}
	u64 counted = now->count - before->count;
	u64 enabled = now->enabled - before->enabled;
	u64 running = now->running - before->running;
	if (!running || enabled >> 8 > running) {
		count(UNCOUNTED);
		return;
	}
	if (enabled > running) {
		// At most 2^24, as at least a 256th of the time was counted.
		u64 scale = (enabled << 16) / running;
		if (counted >> 56) {
			count(BEYOND);
			return;
		}
		counted = (counted >> 16) * scale + (((counted & 0xffff) * scale) >> 16);
	}
	if (sum->count + counted < counted) {
		count(BEYOND);
		return;
	}
	sum->samples += 1;
	sum->nanos += nanos;
	sum->count += counted;
}

// Of three samples in a row, what was counted from the first to the third belongs to what the second hit.
static __attribute__((noinline)) int rate(struct key *key)
{
	u32 zero = 0;
	struct row *row = bpf_map_lookup_elem(&rows, &zero);
	if (!row || !key)
		return 0;
	u64 number = row->number;
	u64 now = bpf_ktime_get_ns();
	if (now - row->times[(number - 1) & 3] > longest)
		row->length = 0;
	struct value *values = row->values[number & 3];
#define READ(i)                                                                                           \
	if (i < counters && bpf_perf_event_read_value(&events_##i, CURRENT_CPU, &values[i], sizeof values[i])) \
		values[i].enabled = 0
	READ(0);
	READ(1);
	READ(2);
	READ(3);
	READ(4);
	READ(5);
	READ(6);
	READ(7);
	if (row->length >= 2) {
		struct rates *rates = bpf_map_lookup_elem(&current_rates, &zero);
		if (!rates)
			return 0;
		struct sums *sums = bpf_map_lookup_elem(rates, &row->key);
		if (!sums && !bpf_map_update_elem(rates, &row->key, &row->none, 0))
			sums = bpf_map_lookup_elem(rates, &row->key);
		if (sums) {
			u32 first = (number - 2) & 3;
			for (u32 i = 0; i < COUNTERS && i < counters; i++)
				add_rate(&sums->of[i], &values[i], &row->values[first][i], now - row->times[first]);
		} else {
			count(NO_RATE);
		}
	}
	row->times[number & 3] = now;
	row->number = number + 1;
	row->length += 1;
	row->key = *key;
	// Rates are not kept by address: most keys are then the same.
	row->key.offset = 0;
	return 0;
}

SEC("perf_event")
int sample(struct event *event)
{
	struct key key = {.core = bpf_get_smp_processor_id(), .activity = IDLE};
	u64 ids = bpf_get_current_pid_tgid();
	count(SAMPLES);
	if (ids) {
		struct task_struct *task = bpf_get_current_task_btf();
		u64 ip = event->ip;
		struct mm_struct *mm = task->mm;
		key.process = ids >> 32;
		key.user = bpf_get_current_uid_gid();
		key.cgroup = bpf_get_current_cgroup_id();
		bpf_probe_read_kernel(key.name, sizeof key.name, task->group_leader->comm);
		if (mm) {
			struct file *exe = mm->exe_file;
			if (exe) {
				struct inode *inode = exe->f_inode;
				key.exe_inode = inode->i_ino;
				key.exe_device = inode->i_sb->s_dev;
				keep_name(exe, key.exe_inode, key.exe_device);
			}
			key.phase = phase_of(task, key.process);
		}
		// The kernel has the upper half of all addresses.
		if ((s64)ip < 0) {
			key.activity = KERNEL;
			key.offset = ip;
		} else {
			key.activity = USER;
			find(task, ip, (u64)mm, &key);
		}
	}
	if (counters)
		rate(&key);
	u32 zero = 0;
	void *counts = bpf_map_lookup_elem(&current, &zero);
	if (!counts) {
		count(FULL);
		return 0;
	}
	// One core has one key of its own at a time, so that nobody else adds to this number.
	u64 *number = bpf_map_lookup_elem(counts, &key);
	if (number) {
		*number += 1;
		return 0;
	}
	u64 one = 1;
	if (bpf_map_update_elem(counts, &key, &one, 0))
		count(FULL);
	return 0;
}

char terms[] SEC("license") = "Dual MIT/GPL";
