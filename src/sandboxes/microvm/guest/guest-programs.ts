import {
  BUFFER,
  BUFFER_BYTES,
  exitUnless,
  fillBuffer,
  makeCall,
  staticProgram,
  systemCall,
} from "./machine-code.ts";

/** The user and group of the tool in the machine. */
export const GUEST_USER_ID = 1_000;

/** Bytes of a `struct timespec`: seconds and nanoseconds, 64 bits each. */
export const TIME_BYTES = 16;

/** Random bytes that a restored machine gets: as many as the key of the kernel's generator has. */
export const SEED_BYTES = 32;

/** Bytes of the message with which a call begins: the time, the seed, and text up to the end. */
export const START_MESSAGE_BYTES: number = BUFFER_BYTES;

const TEXT_OFFSET = TIME_BYTES + SEED_BYTES;

const CLOCK_REALTIME = 0;

/** Makes the kernel's random generator take a new key from what was mixed in (random(4)). */
const RNDRESEEDCRNG = 0x5207;

const PR_SET_NO_NEW_PRIVS = 38;

/**
 * Reads the message with which a call begins from its standard input, sets the clock, reseeds the kernel's random
 * generator, which is its descriptor 3, and writes the text of the message. Every restored machine has the generator and
 * the clock of the saved one until then, and no program of busybox makes the generator use a seed at once.
 */
export const REFRESH_PROGRAM: Buffer = staticProgram([
  ...fillBuffer(),
  ...systemCall("clock_settime", CLOCK_REALTIME, BUFFER),
  ...exitUnless(0),
  ...systemCall("write", 3, BUFFER + TIME_BYTES, SEED_BYTES),
  ...exitUnless(SEED_BYTES),
  ...systemCall("ioctl", 3, RNDRESEEDCRNG, 0),
  ...exitUnless(0),
  ...systemCall("write", 1, BUFFER + TEXT_OFFSET, BUFFER_BYTES - TEXT_OFFSET),
  ...systemCall("exit", 0),
]);

/** Becomes the program that its arguments name, as a user without privileges who cannot get any. */
export const START_PROGRAM: Buffer = staticProgram([
  ...systemCall("setgroups", 0, 0),
  ...exitUnless(0),
  ...systemCall("setgid", GUEST_USER_ID),
  ...exitUnless(0),
  ...systemCall("setuid", GUEST_USER_ID),
  ...exitUnless(0),
  ...systemCall("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0),
  ...exitUnless(0),
  // The stack has argc, argv, 0, envp. mov rcx, [rsp]; mov rdi, [rsp+16]; lea rsi, [rsp+16]; lea rdx, [rsp+rcx*8+16]
  ...[0x48, 0x8b, 0x0c, 0x24, 0x48, 0x8b, 0x7c, 0x24, 0x10, 0x48, 0x8d, 0x74, 0x24, 0x10],
  ...[0x48, 0x8d, 0x54, 0xcc, 0x10],
  ...makeCall("execve"),
  ...systemCall("exit", 126),
]);
