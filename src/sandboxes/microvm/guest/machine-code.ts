/** Where the kernel maps a program of ours: its ELF header, its code, and memory behind them that is zero at first. */
const BASE = 0x400000;
const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const CODE_OFFSET = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;

/** The address of memory that a program can write to. */
export const BUFFER: number = BASE + 0x1000;
export const BUFFER_BYTES = 0x1000;

const READ_WRITE_EXECUTE = 7;

/** System calls of Linux on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl). */
export const SYSTEM_CALLS = {
  read: 0,
  write: 1,
  ioctl: 16,
  execve: 59,
  exit: 60,
  setuid: 105,
  setgid: 106,
  setgroups: 116,
  prctl: 157,
  clock_settime: 227,
} as const;

/** Moves of a 32-bit constant to the registers of a system call's arguments, in their order (syscall(2)). */
const ARGUMENT_MOVES = [[0xbf], [0xbe], [0xba], [0x41, 0xba]] as const;

/**
 * Code that makes a system call with constant arguments; the result is in `rax`.
 *
 * @param args At most four numbers of 32 bits.
 */
export function systemCall(name: keyof typeof SYSTEM_CALLS, ...args: readonly number[]): readonly number[] {
  const moves = args.flatMap((value, index) => [...(ARGUMENT_MOVES[index] ?? []), ...int32(value)]);
  return [...moves, ...makeCall(name)];
}

/** Code that makes a system call whose arguments are in their registers already. */
export function makeCall(name: keyof typeof SYSTEM_CALLS): readonly number[] {
  // mov eax, number; syscall
  return [0xb8, ...int32(SYSTEM_CALLS[name]), 0x0f, 0x05];
}

/** Code that ends the program with exit code 1 unless the last system call returned a value. */
export function exitUnless(value: number): readonly number[] {
  const exit = systemCall("exit", 1);
  // cmp rax, value; je over the exit
  return [0x48, 0x3d, ...int32(value), 0x74, exit.length, ...exit];
}

/** Code that reads from descriptor 0 until the buffer is full. At the end of the input, the program exits with code 1. */
export function fillBuffer(): readonly number[] {
  const end = int32(BUFFER + BUFFER_BYTES);
  const exit = systemCall("exit", 1);
  const body = [
    // xor edi, edi; mov esi, ebx; mov edx, end; sub edx, ebx
    ...[0x31, 0xff, 0x89, 0xde, 0xba, ...end, 0x29, 0xda],
    ...makeCall("read"),
    // test eax, eax; jg over the exit; add ebx, eax; cmp ebx, end
    ...[0x85, 0xc0, 0x7f, exit.length, ...exit, 0x01, 0xc3, 0x81, 0xfb, ...end],
  ];
  // mov ebx, buffer; then jne to the body's start
  return [0xbb, ...int32(BUFFER), ...body, 0x75, 0x100 - (body.length + 2)];
}

/** Returns a static ELF program for x86-64 that consists of the code. See elf(5). */
export function staticProgram(code: readonly number[]): Buffer {
  const program = Buffer.alloc(CODE_OFFSET + code.length);
  Buffer.from("7f454c46020101", "hex").copy(program);
  program.writeUInt16LE(2, 16); // An executable
  program.writeUInt16LE(62, 18); // for x86-64
  program.writeUInt32LE(1, 20);
  program.writeBigUInt64LE(BigInt(BASE + CODE_OFFSET), 24);
  program.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32);
  program.writeUInt16LE(ELF_HEADER_BYTES, 52);
  program.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  program.writeUInt16LE(1, 56);
  const segment = ELF_HEADER_BYTES;
  program.writeUInt32LE(1, segment); // Loaded
  program.writeUInt32LE(READ_WRITE_EXECUTE, segment + 4);
  for (const field of [16, 24]) program.writeBigUInt64LE(BigInt(BASE), segment + field);
  program.writeBigUInt64LE(BigInt(program.length), segment + 32);
  program.writeBigUInt64LE(BigInt(BUFFER + BUFFER_BYTES - BASE), segment + 40);
  program.writeBigUInt64LE(0x1000n, segment + 48);
  Buffer.from(code).copy(program, CODE_OFFSET);
  return program;
}

function int32(value: number): readonly number[] {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value | 0);
  return [...bytes];
}
