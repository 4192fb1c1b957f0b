import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { O_PATH } from "../../../../workspace/paths.ts";
import type { GrantedPath, PathAccess } from "../launch-plan.ts";
import { addressOf, succeed, systemCall } from "./c-library.ts";

/** The actions of linux/landlock.h. */
const ACTIONS = [
  "execute",
  "write_file",
  "read_file",
  "read_dir",
  "remove_dir",
  "remove_file",
  "make_char",
  "make_dir",
  "make_reg",
  "make_sock",
  "make_fifo",
  "make_block",
  "make_sym",
  "refer",
  "truncate",
  "ioctl_dev",
] as const;
type Action = (typeof ACTIONS)[number];

const bits = (actions: readonly Action[]): bigint =>
  actions.reduce((all, action) => all | (1n << BigInt(ACTIONS.indexOf(action))), 0n);

const ALL = bits(ACTIONS);
/** Actions on a file. All others are on a directory. */
const ON_FILES = bits(["execute", "write_file", "read_file", "truncate", "ioctl_dev"]);
/** Programs must not create devices or unix sockets, and do not need to control a device. */
const GIVEN: Readonly<Record<PathAccess, bigint>> = {
  read: bits(["execute", "read_file", "read_dir"]),
  write: ALL & ~bits(["make_char", "make_block", "make_sock", "ioctl_dev"]),
  device: bits(["read_file", "write_file"]),
};

/** Binding and connecting TCP sockets. */
const ALL_NET = 3n;
/** Abstract unix sockets and signals. */
const ALL_SCOPES = 3n;
const VERSION_FLAG = 1;
const PATH_BENEATH = 1;

/** The version of Landlock's interface that the kernel has; 0 if it does not support Landlock. */
export function landlockVersion(): number {
  return Math.max(0, systemCall("landlock_create_ruleset", 0, 0, VERSION_FLAG));
}

/**
 * Irrevocably confines this thread, and the processes that it starts or becomes: to these paths, without TCP,
 * and without signals or abstract unix sockets of processes outside.
 *
 * @throws {Error} if a path is not the one that was granted, or the kernel refuses.
 */
export function confine(paths: readonly GrantedPath[]): void {
  const attributes = Buffer.alloc(24);
  for (const [index, value] of [ALL, ALL_NET, ALL_SCOPES].entries())
    attributes.writeBigUInt64LE(value, 8 * index);
  const size = attributes.length;
  const ruleset = succeed(
    "landlock_create_ruleset",
    systemCall("landlock_create_ruleset", addressOf(attributes), size, 0),
  );
  for (const granted of paths) addRule(ruleset, granted);
  succeed("landlock_restrict_self", systemCall("landlock_restrict_self", ruleset, 0));
  closeSync(ruleset);
}

function addRule(ruleset: number, { path, access, identity }: GrantedPath): void {
  const fd = openSync(path, O_PATH | (identity === undefined ? 0 : constants.O_NOFOLLOW));
  const stat = fstatSync(fd, { bigint: true });
  if (identity !== undefined && identity !== `${stat.dev}:${stat.ino}`)
    throw new Error(`something else has taken the place of '${path}'`);
  const rule = Buffer.alloc(12);
  rule.writeBigUInt64LE(stat.isDirectory() ? GIVEN[access] : GIVEN[access] & ON_FILES, 0);
  rule.writeInt32LE(fd, 8);
  succeed("landlock_add_rule", systemCall("landlock_add_rule", ruleset, PATH_BENEATH, addressOf(rule), 0));
  closeSync(fd);
}
