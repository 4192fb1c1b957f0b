/** Where the kernel maps a program of ours: its ELF header, its code, and memory behind them that is zero at first. */
const BASE = 0x400000;
const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const CODE_OFFSET = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;

/** The address of the data that a program has in its file. */
export const DATA: number = BASE + CODE_OFFSET;

/** The address of memory that a program can write to: of the message that it reads, and of whatever else it needs. */
export const BUFFER: number = BASE + 0x1000;
export const BUFFER_BYTES = 0x6000;
export const SCRATCH: number = BUFFER + BUFFER_BYTES;
const SCRATCH_BYTES = 0x8000;

const READ_WRITE_EXECUTE = 7;

/** System calls of Linux on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl). */
const SYSTEM_CALLS = {
  read: 0,
  write: 1,
  open: 2,
  close: 3,
  ioctl: 16,
  pread64: 17,
  dup2: 33,
  clone: 56,
  execve: 59,
  exit: 60,
  wait4: 61,
  fchown: 93,
  setuid: 105,
  setgid: 106,
  setgroups: 116,
  prctl: 157,
  reboot: 169,
  clock_settime: 227,
  pipe2: 293,
} as const;

/** Instructions of a program. */
export type Code = readonly number[];

/** An argument of a system call: a number of 32 bits, the 64 bits at an address, or what the register has already. */
export type Argument = number | { readonly at: number } | "kept";

/** Moves to the registers of a system call's arguments, in their order (syscall(2)). */
const ARGUMENT_MOVES = [
  { constant: [0xbf], memory: [0x48, 0x8b, 0x3c, 0x25] }, // rdi
  { constant: [0xbe], memory: [0x48, 0x8b, 0x34, 0x25] }, // rsi
  { constant: [0xba], memory: [0x48, 0x8b, 0x14, 0x25] }, // rdx
  { constant: [0x41, 0xba], memory: [0x4c, 0x8b, 0x14, 0x25] }, // r10
] as const;

/**
 * Code that makes a system call. Its result is in `rax`; `rcx` and `r11` change.
 *
 * @param args At most four.
 */
export function systemCall(name: keyof typeof SYSTEM_CALLS, ...args: readonly Argument[]): Code {
  const moves = args.flatMap((value, index) => {
    const { constant = [], memory = [] } = ARGUMENT_MOVES[index] ?? {};
    if (value === "kept") return [];
    return typeof value === "number" ? [...constant, ...int32(value)] : [...memory, ...int32(value.at)];
  });
  // mov eax, number; syscall
  return [...moves, 0xb8, ...int32(SYSTEM_CALLS[name]), 0x0f, 0x05];
}

/** Code that stores the result of the last system call at an address, as 64 bits. */
export function storeResult(address: number): Code {
  // mov [address], rax
  return [0x48, 0x89, 0x04, 0x25, ...int32(address)];
}

/** Code that runs other code unless the last system call returned a value. */
export function unless(value: number, code: Code): Code {
  // cmp rax, value; je over the code
  return [0x48, 0x3d, ...int32(value), 0x0f, 0x84, ...int32(code.length), ...code];
}

/** Code that runs other code unless the last system call returned a number above zero. */
export function unlessPositive(code: Code): Code {
  // test eax, eax; jg over the code
  return [0x85, 0xc0, 0x0f, 0x8f, ...int32(code.length), ...code];
}

/** Code that runs other code unless the 64 bits at an address are zero. */
export function unlessZero(address: number, code: Code): Code {
  // cmp qword [address], 0; je over the code
  return [0x48, 0x83, 0x3c, 0x25, ...int32(address), 0, 0x0f, 0x84, ...int32(code.length), ...code];
}

/** Code that runs other code again and again. */
export function forever(code: Code): Code {
  // jmp to the code's start
  return [...code, 0xe9, ...int32(-code.length - 5)];
}

/** Code that reads from a descriptor until the buffer is full, or runs other code, which must not return, at the end. */
export function fillBuffer(descriptor: number, atEnd: Code): Code {
  const end = int32(BUFFER + BUFFER_BYTES);
  const body = [
    // mov esi, ebx; mov edx, end; sub edx, ebx
    ...[0x89, 0xde, 0xba, ...end, 0x29, 0xda],
    ...systemCall("read", descriptor, "kept", "kept"),
    ...unlessPositive(atEnd),
    // add ebx, eax; cmp ebx, end
    ...[0x01, 0xc3, 0x81, 0xfb, ...end],
  ];
  // mov ebx, buffer; then jne to the body's start
  return [0xbb, ...int32(BUFFER), ...body, 0x0f, 0x85, ...int32(-body.length - 6)];
}

/** Code that copies from one descriptor to another until the end. What the other takes at once must not be less. */
export function copyAll(from: number, to: number): Code {
  const exit = systemCall("exit", 0);
  return forever([
    ...systemCall("read", from, SCRATCH, SCRATCH_BYTES / 2),
    ...unlessPositive(exit),
    // mov edx, eax
    ...[0x89, 0xc2],
    ...systemCall("write", to, SCRATCH, "kept"),
    ...unlessPositive(exit),
  ]);
}

/** Code that writes the lower 16 bits at one address as four letters, from `a` for 0 to `p` for 15, to another. */
export function writeLetters(from: number, to: number): Code {
  // mov ax, [from]; then for each: rol ax, 4; mov dl, al; and dl, 15; add dl, 'a'; mov [to], dl
  const one = (address: number): Code => [
    ...[0x66, 0xc1, 0xc0, 4, 0x88, 0xc2, 0x80, 0xe2, 15, 0x80, 0xc2, 0x61],
    ...[0x88, 0x14, 0x25, ...int32(address)],
  ];
  return [0x66, 0x8b, 0x04, 0x25, ...int32(from), ...[0, 1, 2, 3].flatMap((index) => one(to + index))];
}

/** Code that adds the result of the last system call to a number of 64 bits at an address. */
export function addResult(address: number): Code {
  // add [address], rax
  return [0x48, 0x01, 0x04, 0x25, ...int32(address)];
}

/** Code that stores a number of 32 bits as 64 bits. */
export function store(value: number, address: number): Code {
  // mov qword [address], value
  return [0x48, 0xc7, 0x04, 0x25, ...int32(address), ...int32(value)];
}

/** Returns a static ELF program for x86-64 that consists of the code, with its data at the address `DATA`. See elf(5). */
export function staticProgram(code: Code, data: Uint8Array = new Uint8Array()): Buffer {
  const program = Buffer.alloc(CODE_OFFSET + data.length + code.length);
  Buffer.from("7f454c46020101", "hex").copy(program);
  program.writeUInt16LE(2, 16); // An executable
  program.writeUInt16LE(62, 18); // for x86-64
  program.writeUInt32LE(1, 20);
  program.writeBigUInt64LE(BigInt(DATA + data.length), 24);
  program.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32);
  program.writeUInt16LE(ELF_HEADER_BYTES, 52);
  program.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  program.writeUInt16LE(1, 56);
  const segment = ELF_HEADER_BYTES;
  program.writeUInt32LE(1, segment); // Loaded
  program.writeUInt32LE(READ_WRITE_EXECUTE, segment + 4);
  for (const field of [16, 24]) program.writeBigUInt64LE(BigInt(BASE), segment + field);
  program.writeBigUInt64LE(BigInt(program.length), segment + 32);
  program.writeBigUInt64LE(BigInt(SCRATCH + SCRATCH_BYTES - BASE), segment + 40);
  program.writeBigUInt64LE(0x1000n, segment + 48);
  program.set(data, CODE_OFFSET);
  program.set(code, CODE_OFFSET + data.length);
  if (program.length > BUFFER - BASE) throw new Error("the program is too long");
  return program;
}

function int32(value: number): Code {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value | 0);
  return [...bytes];
}
