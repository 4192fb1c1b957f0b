/**
 * The process that becomes the program: it reads a {@link LaunchPlan} from descriptor 3, gives up what the program must not
 * have, writes a byte to descriptor 4, and executes the program. It never uses asynchronous functions: threads that
 * started before would not be confined.
 */
import { constants, openSync, readFileSync, readlinkSync, writeSync } from "node:fs";
import { DIRECTORY_FLAGS, fdPath } from "../../../../workspace/paths.ts";
import { NO_DIRECTORY, OUTSIDE, STARTED } from "../../launcher.ts";
import type { LaunchPlan } from "../launch-plan.ts";
import {
  addressOf,
  ExecutionError,
  exitNow,
  prctl,
  preparedExecution,
  resetSignals,
  setLimit,
  succeed,
  systemCall,
} from "./c-library.ts";
import { confine } from "./ruleset.ts";

const PR_CAPBSET_DROP = 24;

const PR_SET_SECUREBITS = 28;

const PR_SET_NO_NEW_PRIVS = 38;

const PR_CAP_AMBIENT = 47;

const PR_CAP_AMBIENT_CLEAR_ALL = 4;

/** SECBIT_NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, and the lock of each of them and of KEEP_CAPS. */
const LOCKED_BITS = 0b1110_1111;

const CAPABILITY_VERSION = 0x20080522;

const KEYCTL_JOIN_SESSION_KEYRING = 1;

const PLAN_FD = 3;
const STARTED_FD = 4;
const CHANNEL_FD = 5;
/** The descriptor of a program's channel. */
const PROGRAM_CHANNEL_FD = 3;

/** Its standard streams, which a program can reopen by names such as `/dev/stderr`. */
const STREAMS = [0, 1, 2].map((fd) => ({ path: fdPath(fd), access: "device" }) as const);

const PTRACE_TRACEME = 0;
const PR_SET_PDEATHSIG = 1;
const PR_SET_SECCOMP = 22;
const SIGKILL = 9;
const CLOSE_ON_EXEC = 4;
const F_SETFD = 2;

const supervisor = process.ppid;
try {
  const plan = JSON.parse(readFileSync(`/proc/self/fd/${PLAN_FD}`, "utf8")) as LaunchPlan;
  succeed("PR_SET_PDEATHSIG", prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (process.ppid !== supervisor) throw new Error("the supervisor has ended");
  succeed("close_range", systemCall("close_range", 3, 0xffff_ffff, CLOSE_ON_EXEC));
  // Node.js makes the kernel close these.
  for (const fd of [0, 1, 2]) succeed("fcntl", systemCall("fcntl", fd, F_SETFD, 0));
  if (!plan.hasInput) succeed("dup3", systemCall("dup3", openSync("/dev/null", "r"), 0, 0));
  // The copy is open in the program. The plan has been read.
  if (plan.hasChannel) succeed("dup3", systemCall("dup3", CHANNEL_FD, PROGRAM_CHANNEL_FD, 0));
  const directory = openSync(plan.directory, DIRECTORY_FLAGS);
  succeed("fchdir", systemCall("fchdir", directory));
  if (plan.cwd !== undefined) enter(plan.cwd, directory);
  const cgroups = plan.cgroups.map((file) => openSync(file, "w"));
  const becomeProgram = preparedExecution(plan.command, plan.args, plan.env);
  dropPrivileges();
  confine([...plan.paths, ...STREAMS]);
  // The supervisor is notified when this process has become the program.
  if (plan.addressSpaceBytes !== undefined) succeed("ptrace", systemCall("ptrace", PTRACE_TRACEME));
  filterCalls(Buffer.from(plan.filter, "base64"));
  resetSignals();
  for (const [resource, soft, hard] of plan.limits) setLimit(0, resource, soft, hard);
  for (const cgroup of cgroups) writeSync(cgroup, "0");
  writeSync(STARTED_FD, STARTED);
  becomeProgram();
} catch (error) {
  writeSync(2, `${(error as Error).message}\n`);
  exitNow(error instanceof ExecutionError ? error.exitCode : 127);
}

/** Enters a directory below an open one. If it is missing or elsewhere, reports that and exits. */
function enter(path: string, root: number): void {
  const entered = openDirectory(path);
  const [at, within] = [entered, root].map((fd) => readlinkSync(fdPath(fd))) as [string, string];
  if (at !== within && !at.startsWith(`${within}/`)) refuse(OUTSIDE);
  succeed("fchdir", systemCall("fchdir", entered));
}

function openDirectory(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch {
    return refuse(NO_DIRECTORY);
  }
}

function refuse(word: string): never {
  writeSync(STARTED_FD, word);
  process.exit(1);
}

function filterCalls(filter: Buffer): void {
  const program = Buffer.alloc(16);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(addressOf(filter), 8);
  succeed("seccomp", prctl(PR_SET_SECCOMP, 2, addressOf(program)));
}

/**
 * Gives up all capabilities, so that root is only the owner of its files, and what a program could gain by executing
 * another one. Joins a new session keyring.
 */
function dropPrivileges(): void {
  succeed("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1));
  // Fails for users without keyrings, for example because the kernel does not support them.
  systemCall("keyctl", KEYCTL_JOIN_SESSION_KEYRING, 0);
  // These fail for users without capabilities.
  systemCall("setgroups", 0, 0);
  for (let capability = 0; capability < 64; capability++) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_SET_SECUREBITS, LOCKED_BITS);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  const header = Buffer.alloc(8);
  header.writeUInt32LE(CAPABILITY_VERSION, 0);
  const noCapabilities = Buffer.alloc(24);
  succeed("capset", systemCall("capset", addressOf(header), addressOf(noCapabilities)));
}
