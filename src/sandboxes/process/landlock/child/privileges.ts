import { addressOf, prctl, succeed, systemCall } from "./c-library.ts";

const PR_CAPBSET_DROP = 24;
const PR_SET_SECUREBITS = 28;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
/** SECBIT_NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, and the lock of each of them and of KEEP_CAPS. */
const LOCKED_BITS = 0b1110_1111;
const CAPABILITY_VERSION = 0x20080522;
const KEYCTL_JOIN_SESSION_KEYRING = 1;

/**
 * Gives up all capabilities, so that root is only the owner of its files, and what a program could gain by executing
 * another one. Joins a new session keyring.
 */
export function dropPrivileges(): void {
  succeed("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1));
  // Fails for users who have no keyrings, such as where the kernel has none.
  systemCall("keyctl", KEYCTL_JOIN_SESSION_KEYRING, 0);
  // These fail for users who have no capabilities to give up.
  systemCall("setgroups", 0, 0);
  for (let capability = 0; capability < 64; capability++) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_SET_SECUREBITS, LOCKED_BITS);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  const header = Buffer.alloc(8);
  header.writeUInt32LE(CAPABILITY_VERSION, 0);
  const none = Buffer.alloc(24);
  succeed("capset", systemCall("capset", addressOf(header), addressOf(none)));
}
