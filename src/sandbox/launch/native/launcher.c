/*
 * The native launcher: runs a list of system calls that skein wrote (see call-list.ts), the last of which executes a program.
 * It decides nothing: every restriction is a row of the list. It uses no C library, so that it starts in a millisecond.
 * A row that must succeed and fails ends it with one line of text and exit code 125. It never starts a program then.
 */
#include <stdint.h>

#if defined(__x86_64__)
enum { SYS_read = 0, SYS_write = 1, SYS_close = 3, SYS_mmap = 9, SYS_rt_sigaction = 13, SYS_clone = 56, SYS_execve = 59, SYS_wait4 = 61,
       SYS_kill = 62, SYS_prctl = 157, SYS_exit_group = 231, SYS_pipe2 = 293, SYS_getpid = 39, SYS_getdents64 = 217 };

static long system_call(long number, const long *a) {
  long result;
  register long r10 __asm__("r10") = a[3];
  register long r8 __asm__("r8") = a[4];
  register long r9 __asm__("r9") = a[5];
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/* The kernel puts the number of arguments, the arguments and the environment at the top of the stack. */
__asm__(".globl _start\n_start:\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call launch\n");
#elif defined(__aarch64__)
enum { SYS_read = 63, SYS_write = 64, SYS_close = 57, SYS_mmap = 222, SYS_rt_sigaction = 134, SYS_clone = 220, SYS_execve = 221,
       SYS_wait4 = 260, SYS_kill = 129, SYS_prctl = 167, SYS_exit_group = 94, SYS_pipe2 = 59, SYS_getpid = 172, SYS_getdents64 = 61 };

static long system_call(long number, const long *a) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a[0];
  register long x1 __asm__("x1") = a[1];
  register long x2 __asm__("x2") = a[2];
  register long x3 __asm__("x3") = a[3];
  register long x4 __asm__("x4") = a[4];
  register long x5 __asm__("x5") = a[5];
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

__asm__(".globl _start\n_start:\n  mov x0, sp\n  bl launch\n");
#else
#error "the native launcher is written for x86_64 and aarch64"
#endif

#define CALL(number, ...) system_call(number, (const long[6]){__VA_ARGS__})

enum { SLOTS = 1024, FAILED = 125 };
enum { NO_ENTRY = 2, EXISTS = 17 };
/* What happens if a row fails. A row that uses the result of a failed row is skipped. */
enum { MUST_SUCCEED = 0, MAY_FAIL = 1, MAY_BE_MISSING = 2, MAY_EXIST = 3 };
/* Operations beside system calls. */
enum { OP_FORK = 0xff01, OP_EXECUTE = 0xff02, OP_STORE_POINTER = 0xff03, OP_STORE_RESULT = 0xff04, OP_ALLOW_ENTRIES = 0xff05 };
/* A row with an argument of kind FAILURE runs only if the named row failed. Otherwise it counts as done. */
enum { NUMBER = 0, POINTER = 1, RESULT = 2, FAILURE = 3 };

struct row {
  uint16_t operation;
  uint16_t slot;
  uint8_t on_error;
  uint8_t kinds[6];
  uint8_t unused;
  uint32_t message;
  int32_t arguments[6];
};

struct header {
  uint32_t rows;
  uint32_t data;
};

/* The errors that the calls of a list can have. Their numbers are the same on both machines. */
static const struct {
  uint8_t number;
  char name[15];
} errors[] = {
    {1, "EPERM"}, {2, "ENOENT"}, {5, "EIO"}, {7, "E2BIG"}, {8, "ENOEXEC"}, {9, "EBADF"}, {11, "EAGAIN"}, {12, "ENOMEM"},
    {13, "EACCES"}, {14, "EFAULT"}, {16, "EBUSY"}, {17, "EEXIST"}, {18, "EXDEV"}, {19, "ENODEV"}, {20, "ENOTDIR"},
    {21, "EISDIR"}, {22, "EINVAL"}, {23, "ENFILE"}, {24, "EMFILE"}, {26, "ETXTBSY"}, {27, "EFBIG"}, {28, "ENOSPC"},
    {30, "EROFS"}, {34, "ERANGE"}, {36, "ENAMETOOLONG"}, {38, "ENOSYS"}, {39, "ENOTEMPTY"}, {40, "ELOOP"}, {75, "EOVERFLOW"},
    {87, "EUSERS"}, {95, "EOPNOTSUPP"}, {97, "EAFNOSUPPORT"}, {98, "EADDRINUSE"}, {99, "EADDRNOTAVAIL"}, {116, "ESTALE"},
    {122, "EDQUOT"},
};

static const char prefix[] = "SKEIN_LAUNCH";

static long length_of(const char *text) {
  long length = 0;
  while (text[length]) length += 1;
  return length;
}

static void print(const char *text) { CALL(SYS_write, 2, (long)text, length_of(text)); }

__attribute__((noreturn)) static void end(long code) {
  for (;;) CALL(SYS_exit_group, code);
}

__attribute__((noreturn)) static void fail(const char *message, long error) {
  const char *name = "unknown error";
  for (uint32_t index = 0; index < sizeof errors / sizeof *errors; index += 1)
    if (errors[index].number == error) name = errors[index].name;
  print(message);
  print(": ");
  print(name);
  print("\n");
  end(FAILED);
}

static int is_launch_variable(const char *text) {
  for (long index = 0; prefix[index]; index += 1)
    if (text[index] != prefix[index]) return 0;
  return 1;
}

/* The value of a character of base64. */
static uint32_t six_bits(char character) {
  if (character >= 'a') return character - 'a' + 26;
  if (character >= 'A') return character - 'A';
  if (character >= '0') return character - '0' + 52;
  return character == '+' ? 62 : 63;
}

/* Decodes base64 without padding. */
static uint8_t *decode(const char *text, uint8_t *out) {
  for (; text[0] && text[1] && text[2] && text[3]; text += 4) {
    uint32_t bits = six_bits(text[0]) << 18 | six_bits(text[1]) << 12 | six_bits(text[2]) << 6 | six_bits(text[3]);
    *out++ = bits >> 16;
    *out++ = bits >> 8;
    *out++ = bits;
  }
  return out;
}

/* Removes the variables with the list from the environment, and decodes them in their order. Returns null if there are none. */
static uint8_t *take_list(char **environment) {
  long total = 0;
  for (char **entry = environment; *entry; entry += 1)
    if (is_launch_variable(*entry)) total += length_of(*entry);
  if (total == 0) return 0;
  /* Readable and writable, private and anonymous. */
  uint8_t *list = (uint8_t *)CALL(SYS_mmap, 0, total, 3, 0x22, -1, 0);
  if ((long)list < 0 && (long)list > -4096) return 0;
  uint8_t *end_of_list = list;
  char **kept = environment;
  for (char **entry = environment; *entry; entry += 1) {
    if (!is_launch_variable(*entry)) {
      *kept++ = *entry;
      continue;
    }
    const char *value = *entry;
    while (*value && *value != '=') value += 1;
    if (*value) end_of_list = decode(value + 1, end_of_list);
  }
  *kept = 0;
  return list;
}

static void set_signal(long number, long handler) {
  const uint64_t action[4] = {(uint64_t)handler, 0, 0, 0};
  CALL(SYS_rt_sigaction, number, (long)action, 0, 8);
}

enum { SIGINT = 2, SIGKILL = 9, SIGTERM = 15, SIGCHLD = 17, PR_SET_PDEATHSIG = 1 };
enum { PIPE_FLAGS = 02004000 /* close on exec, non-blocking */ };

/*
 * Goes on in a child, which is the first process of a new pid namespace. The parent only waits for it and ends like it.
 * The child dies with its parent. The pipe shows the child that the parent died before the child could ask for that.
 */
static long fork_and_wait(char **arguments) {
  int ends[2];
  long result = CALL(SYS_pipe2, (long)ends, PIPE_FLAGS);
  if (result < 0) return result;
  long child = CALL(SYS_clone, SIGCHLD);
  if (child < 0) return child;
  if (child == 0) {
    char byte;
    CALL(SYS_close, ends[1]);
    CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (CALL(SYS_read, ends[0], (long)&byte, 1) == 0) end(FAILED);
    CALL(SYS_close, ends[0]);
    return 0;
  }
  CALL(SYS_close, ends[0]);
  /* The waiting process is not the program, so it does not show the program's arguments. */
  for (char **argument = arguments + 1; *argument; argument += 1)
    for (char *letter = *argument; *letter; letter += 1) *letter = 0;
  set_signal(SIGINT, 1);
  set_signal(SIGTERM, 1);
  int status = 0;
  do result = CALL(SYS_wait4, child, (long)&status, 0, 0);
  while (result != child);
  long signal = status & 0x7f;
  if (signal == 0) end(status >> 8 & 0xff);
  set_signal(signal, 0);
  CALL(SYS_kill, CALL(SYS_getpid), signal);
  end(128 + signal);
}

enum { SYS_openat2 = 437, SYS_landlock_add_rule = 445, CURRENT_DIRECTORY = -100, INVALID = 22 };
enum { DIRECTORY_FLAGS = 02200000 /* a directory, close on exec */, ENTRY_FLAGS = 012000000 /* only the path, close on exec */ };

struct open_how {
  uint64_t flags, mode, resolve;
};

struct path_rule {
  uint64_t rights;
  int32_t file;
} __attribute__((packed));

struct entry {
  uint64_t inode, offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

/* Opens without following any link. */
static long open_real(long directory, const char *path, uint64_t flags) {
  struct open_how how = {flags, 0, 4};
  return CALL(SYS_openat2, directory, (long)path, (long)&how, sizeof how);
}

static int is_equal(const char *one, const char *other) {
  while (*one && *one == *other) one += 1, other += 1;
  return *one == *other;
}

/* The names end with an empty one. */
static int is_among(const char *name, const char *names) {
  for (; *names; names += length_of(names) + 1)
    if (is_equal(name, names)) return 1;
  return 0;
}

/*
 * Allows by Landlock every entry of a directory, except for the named ones and for links. Landlock can only allow, so the
 * entries beside a secret are allowed one by one. A directory or an entry that can't be opened is not allowed.
 */
static long allow_entries(const long *a) {
  const char *names = (const char *)a[2];
  struct path_rule *for_directory = (struct path_rule *)a[3], *for_file = (struct path_rule *)a[4];
  long directory = open_real(CURRENT_DIRECTORY, (const char *)a[1], DIRECTORY_FLAGS);
  if (directory < 0) return 0;
  char buffer[4096] __attribute__((aligned(8)));
  long result = 0, length;
  while (result == 0 && (length = CALL(SYS_getdents64, directory, (long)buffer, sizeof buffer)) > 0)
    for (long at = 0; at < length && result == 0;) {
      struct entry *entry = (struct entry *)(buffer + at);
      at += entry->length;
      if (is_among(entry->name, names)) continue;
      long file = open_real(directory, entry->name, ENTRY_FLAGS);
      if (file < 0) continue;
      for_directory->file = for_file->file = (int32_t)file;
      result = CALL(SYS_landlock_add_rule, a[0], 1, (long)for_directory, 0);
      /* Some rights exist only for directories. */
      if (result == -INVALID) result = CALL(SYS_landlock_add_rule, a[0], 1, (long)for_file, 0);
      CALL(SYS_close, file);
    }
  CALL(SYS_close, directory);
  return result;
}

__attribute__((noreturn, used)) void launch(long *stack) {
  long count = stack[0];
  char **arguments = (char **)(stack + 1);
  char **environment = arguments + count + 1;
  uint8_t *list = take_list(environment);
  if (count < 2 || list == 0) {
    print("skein starts this program; it does nothing by itself\n");
    end(FAILED);
  }
  const struct header *header = (const struct header *)list;
  const struct row *rows = (const struct row *)(header + 1);
  uint8_t *data = (uint8_t *)(rows + header->rows);
  long results[SLOTS];
  for (uint32_t index = 0; index < header->rows; index += 1) {
    const struct row *row = &rows[index];
    long values[6];
    long result = 0;
    int is_skipped = 0;
    for (int number = 0; number < 6; number += 1) {
      long value = row->arguments[number];
      if (row->kinds[number] == POINTER) value = (long)(data + value);
      if (row->kinds[number] == RESULT) {
        value = results[value];
        if (value < 0) is_skipped = 1, result = -1;
      }
      if (row->kinds[number] == FAILURE && results[value] >= 0) is_skipped = 1;
      values[number] = value;
    }
    if (is_skipped)
      ;
    else if (row->operation == OP_FORK)
      result = fork_and_wait(arguments);
    else if (row->operation == OP_EXECUTE)
      result = CALL(SYS_execve, (long)arguments[1], (long)(arguments + 1), (long)environment);
    else if (row->operation == OP_STORE_POINTER)
      *(long *)values[0] = values[1];
    else if (row->operation == OP_STORE_RESULT)
      *(int32_t *)values[0] = (int32_t)values[1];
    else if (row->operation == OP_ALLOW_ENTRIES)
      result = allow_entries(values);
    else
      result = system_call(row->operation, values);
    results[row->slot] = result;
    if (result >= 0 || is_skipped) continue;
    if (row->on_error == MAY_FAIL) continue;
    if (row->on_error == MAY_BE_MISSING && result == -NO_ENTRY) continue;
    if (row->on_error == MAY_EXIST && result == -EXISTS) continue;
    fail((const char *)data + row->message, -result);
  }
  /* A list without a last row that executes is no list of skein. */
  end(FAILED);
}
