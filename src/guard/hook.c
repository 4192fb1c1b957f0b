/*
 * The hook of an agent, without Node.js: hands what the agent writes to standard input on to the process that decides, and writes its
 * answer. It ends with 3, and writes nothing, if there is no answer in time, if another process gives it, or if it is not one
 * that process can have given: the shell around it makes a denial of that. If no process listens, it becomes the hook that runs in
 * Node.js, which starts one.
 *
 *     hook AGENT FOLDER PIN HOME PROGRAM [WORD…]
 *
 * FOLDER has the socket `guard.sock` and the secret `hook.secret` (32 bytes). PIN is the SHA-256 of the secret, in hex. PROGRAM and
 * its words are the other hook.
 *
 * A request is `AGENT NONCE BYTES\n` and the input, an answer `MAC BYTES\n` and the text that the hook writes. The MAC is
 * HMAC-SHA256 with the secret over the SHA-256 of the request, and the text.
 *
 * It has no C library. `scripts/first-process.ts` compiles it.
 */

typedef unsigned long size;
typedef unsigned char byte;
typedef unsigned int word;

#if defined(__x86_64__)
enum {
  READ = 0, WRITE = 1, CLOSE = 3, POLL = 7, SOCKET = 41, CONNECT = 42, GETSOCKOPT = 55, EXECVE = 59, EXIT = 60, GETEUID = 107,
  CLOCK_GETTIME = 228, OPENAT = 257, NEWFSTATAT = 262, GETRANDOM = 318
};
/* struct stat: st_mode is a word, and st_uid the next one. */
enum { MODE_AT = 24, UID_AT = 28 };
#else
#error "the layouts of this machine's calls are not known"
#endif

enum { AT_FDCWD = -100, O_CLOEXEC = 02000000, O_NOFOLLOW = 0400000, AT_SYMLINK_NOFOLLOW = 0x100 };
enum { AF_UNIX = 1, SOCK_STREAM = 1, SOCK_NONBLOCK = 04000, SOCK_CLOEXEC = 02000000, SOL_SOCKET = 1, SO_PEERCRED = 17 };
enum { POLLIN = 1, POLLOUT = 4, EAGAIN = -11, EINTR = -4, CLOCK_MONOTONIC = 1 };
/* The process that decides answers within 6 s, and the agent waits for 60. */
enum { LIMIT_MS = 9000, FAILED = 3, MAX_INPUT = 12 * 1024 * 1024, MAX_ANSWER = 32 * 1024 * 1024, MAX_PATH = 108 };

static byte input[MAX_INPUT + 1];
static byte answer[MAX_ANSWER + 128];

static long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
}

static __attribute__((noreturn)) void end(int status) {
  for (;;) call(EXIT, status, 0, 0, 0, 0);
}

static void must(int holds) {
  if (!holds) end(FAILED);
}

/* The compiler calls these by itself. */
void *memcpy(void *to, const void *from, size count) {
  byte *target = to;
  const byte *source = from;
  while (count-- > 0) *target++ = *source++;
  return to;
}

void *memset(void *to, int value, size count) {
  byte *target = to;
  while (count-- > 0) *target++ = value;
  return to;
}

static size length(const char *text) {
  size count = 0;
  while (text[count] != 0) count++;
  return count;
}

static long now(void) {
  long time[2];
  must(call(CLOCK_GETTIME, CLOCK_MONOTONIC, (long)time, 0, 0, 0) == 0);
  return time[0] * 1000 + time[1] / 1000000;
}

static void wait_for(int file, int what, long until) {
  struct {
    int file;
    short events, found;
  } polled = {file, what, 0};
  for (;;) {
    long left = until - now();
    must(left > 0);
    long ready = call(POLL, (long)&polled, 1, left, 0, 0);
    if (ready == EINTR) continue;
    must(ready == 1);
    return;
  }
}

static void send_all(int file, const byte *data, size count, long until) {
  while (count > 0) {
    wait_for(file, POLLOUT, until);
    long sent = call(WRITE, file, (long)data, count, 0, 0);
    if (sent == EAGAIN || sent == EINTR) continue;
    must(sent > 0);
    data += sent;
    count -= sent;
  }
}

/* Reads until the end, and returns the number of bytes, which is `most` if there are more. */
static size receive_all(int file, byte *data, size most, long until) {
  size count = 0;
  while (count < most) {
    wait_for(file, POLLIN, until);
    long received = call(READ, file, (long)(data + count), most - count, 0, 0);
    if (received == EAGAIN || received == EINTR) continue;
    must(received >= 0);
    if (received == 0) break;
    count += received;
  }
  return count;
}

/* SHA-256 (FIPS 180-4). */
typedef struct {
  word state[8];
  byte block[64];
  size count;
} sha;

static const word ROUNDS[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static word turned(word value, int by) { return value >> by | value << (32 - by); }

static void sha_begin(sha *hash) {
  static const word first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, first, sizeof first);
  hash->count = 0;
}

static void sha_block(sha *hash) {
  word schedule[64], now_at[8];
  for (int i = 0; i < 16; i++) {
    const byte *at = hash->block + 4 * i;
    schedule[i] = (word)at[0] << 24 | (word)at[1] << 16 | (word)at[2] << 8 | at[3];
  }
  for (int i = 16; i < 64; i++) {
    word a = schedule[i - 15], b = schedule[i - 2];
    schedule[i] = schedule[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + schedule[i - 7] +
                  (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
  }
  memcpy(now_at, hash->state, sizeof now_at);
  for (int i = 0; i < 64; i++) {
    word a = now_at[0], e = now_at[4];
    word one = now_at[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & now_at[5]) ^ (~e & now_at[6])) + ROUNDS[i] +
               schedule[i];
    word two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & now_at[1]) ^ (a & now_at[2]) ^ (now_at[1] & now_at[2]));
    for (int j = 7; j > 0; j--) now_at[j] = now_at[j - 1];
    now_at[4] += one;
    now_at[0] = one + two;
  }
  for (int i = 0; i < 8; i++) hash->state[i] += now_at[i];
}

static void sha_add(sha *hash, const void *data, size count) {
  const byte *from = data;
  while (count-- > 0) {
    hash->block[hash->count++ % 64] = *from++;
    if (hash->count % 64 == 0) sha_block(hash);
  }
}

static void sha_end(sha *hash, byte digest[32]) {
  size bits = hash->count * 8;
  byte next = 0x80;
  do {
    sha_add(hash, &next, 1);
    next = 0;
  } while (hash->count % 64 != 56);
  for (int i = 7; i >= 0; i--) {
    next = bits >> (8 * i);
    sha_add(hash, &next, 1);
  }
  for (int i = 0; i < 32; i++) digest[i] = hash->state[i / 4] >> (24 - 8 * (i % 4));
}

static void to_hex(const byte *bytes, size count, char *text) {
  for (size i = 0; i < count; i++) {
    text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
}

static int same(const void *one, const void *other, size count) {
  const byte *a = one, *b = other;
  byte differing = 0;
  for (size i = 0; i < count; i++) differing |= a[i] ^ b[i];
  return differing == 0;
}

/* Joins the folder and a name to the path of a file. */
static void path_in(const char *folder, const char *name, char path[MAX_PATH]) {
  size first = length(folder), second = length(name);
  must(first + second + 1 < MAX_PATH);
  memcpy(path, folder, first);
  memcpy(path + first, name, second + 1);
}

static void check_folder(const char *folder) {
  byte stat[144];
  word mode, uid;
  must(call(NEWFSTATAT, AT_FDCWD, (long)folder, (long)stat, AT_SYMLINK_NOFOLLOW, 0) == 0);
  memcpy(&mode, stat + MODE_AT, 4);
  memcpy(&uid, stat + UID_AT, 4);
  must((mode & 0170077) == 0040000 && uid == (word)call(GETEUID, 0, 0, 0, 0, 0));
}

/* Becomes the hook in Node.js: nothing has been read yet. */
static __attribute__((noreturn)) void become_other(char **words, const char *home) {
  static char variable[4096];
  static const char *variables[] = {"PATH=/usr/local/bin:/usr/bin:/bin", variable, 0};
  size count = length(home);
  must(count + 6 < sizeof variable);
  memcpy(variable, "HOME=", 5);
  memcpy(variable + 5, home, count + 1);
  call(EXECVE, (long)words[0], (long)words, (long)variables, 0, 0);
  end(FAILED);
}

static int connect_to(const char *folder) {
  struct {
    unsigned short family;
    char path[MAX_PATH];
  } address = {AF_UNIX, {0}};
  struct {
    int pid;
    word uid, gid;
  } peer = {0, 0, 0};
  word bytes = sizeof peer;
  path_in(folder, "/guard.sock", address.path);
  int file = call(SOCKET, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0);
  must(file >= 0);
  long connected = call(CONNECT, file, (long)&address, sizeof address, 0, 0);
  if (connected < 0) return connected;
  must(call(GETSOCKOPT, file, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&bytes) == 0);
  must(peer.uid == (word)call(GETEUID, 0, 0, 0, 0, 0));
  return file;
}

static void read_secret(const char *folder, const char *pin, byte secret[64]) {
  char path[MAX_PATH], hex[64];
  byte digest[32];
  sha hash;
  path_in(folder, "/hook.secret", path);
  int file = call(OPENAT, AT_FDCWD, (long)path, O_CLOEXEC | O_NOFOLLOW, 0, 0);
  must(file >= 0 && call(READ, file, (long)secret, 33, 0, 0) == 32);
  call(CLOSE, file, 0, 0, 0, 0);
  secret[32] = 0;
  sha_begin(&hash);
  sha_add(&hash, secret, 32);
  sha_end(&hash, digest);
  to_hex(digest, 32, hex);
  must(length(pin) == 64 && same(hex, pin, 64));
}

static size write_number(size value, char *text) {
  char digits[24];
  size count = 0, i;
  do digits[count++] = '0' + value % 10;
  while ((value /= 10) > 0);
  for (i = 0; i < count; i++) text[i] = digits[count - 1 - i];
  return count;
}

static void hmac_block(sha *hash, const byte secret[64], byte with) {
  byte block[64];
  for (int i = 0; i < 64; i++) block[i] = secret[i] ^ with;
  sha_begin(hash);
  sha_add(hash, block, 64);
}

/* Returns where the text of the answer begins. It ends with the answer. */
static size check_answer(const byte secret[64], const byte request[32], size received) {
  byte mac[32];
  char hex[64];
  sha hash;
  size bytes = 0, at = 65;
  must(received > 67 && answer[64] == ' ');
  for (; at < received && at < 76 && answer[at] >= '0' && answer[at] <= '9'; at++) bytes = bytes * 10 + (answer[at] - '0');
  must(at > 65 && at < received && answer[at] == '\n' && bytes > 1 && received - at - 1 == bytes);
  at++;
  hmac_block(&hash, secret, 0x36);
  sha_add(&hash, request, 32);
  sha_add(&hash, answer + at, bytes);
  sha_end(&hash, mac);
  hmac_block(&hash, secret, 0x5c);
  sha_add(&hash, mac, 32);
  sha_end(&hash, mac);
  to_hex(mac, 32, hex);
  must(same(hex, answer, 64));
  return at;
}

__attribute__((noreturn, used)) static void run(long count, char **words) {
  byte secret[64] = {0}, nonce[16], request[32];
  char head[256], *agent, *folder;
  size at = 0, bytes, read;
  sha hash;
  must(count >= 6);
  agent = words[1];
  folder = words[2];
  check_folder(folder);
  int connection = connect_to(folder);
  /* ENOENT, ECONNREFUSED. */
  if (connection == -2 || connection == -111) become_other(words + 5, words[4]);
  must(connection >= 0);
  read_secret(folder, words[3], secret);
  must(call(GETRANDOM, (long)nonce, sizeof nonce, 0, 0, 0) == sizeof nonce);
  long until = now() + LIMIT_MS;
  read = receive_all(0, input, sizeof input, until);
  must(read <= MAX_INPUT);
  bytes = length(agent);
  must(bytes < 64);
  memcpy(head, agent, bytes);
  at = bytes;
  head[at++] = ' ';
  to_hex(nonce, sizeof nonce, head + at);
  at += 2 * sizeof nonce;
  head[at++] = ' ';
  at += write_number(read, head + at);
  head[at++] = '\n';
  sha_begin(&hash);
  sha_add(&hash, head, at);
  sha_add(&hash, input, read);
  sha_end(&hash, request);
  send_all(connection, (byte *)head, at, until);
  send_all(connection, input, read, until);
  bytes = receive_all(connection, answer, sizeof answer, until);
  at = check_answer(secret, request, bytes);
  send_all(1, answer + at, bytes - at, until);
  end(0);
}

/* The stack has the number of words and the words. */
__attribute__((naked, noreturn)) void _start(void) {
  __asm__ volatile("mov (%rsp), %rdi\n\tlea 8(%rsp), %rsi\n\tand $-16, %rsp\n\tcall run");
}
