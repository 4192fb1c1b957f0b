import { existsSync } from "node:fs";
import { CONFIGURATION, SYSTEM_DIRECTORIES } from "../namespaces/system-files.ts";
import type { GrantedPath } from "./launch-plan.ts";

/** Devices that programs expect, and that reach nothing. */
const DEVICES = ["full", "null", "random", "urandom", "zero"];

/** Files of `/proc` that tell about the machine, not about its processes. */
const MACHINE = ["cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"];

/**
 * Files of `/etc` that programs need besides: with namespaces, they would not be there, and programs do without them. What
 * is there and cannot be read ends some of them.
 */
const EXISTING = ["bash.bashrc", "nsswitch.conf", "profile", "ssl/certs", "ssl/openssl.cnf"];

/** The paths of the system that every program may use, as far as they are there. */
export function systemPaths(): readonly GrantedPath[] {
  const read = [
    ...SYSTEM_DIRECTORIES,
    ...[...CONFIGURATION, ...EXISTING].map((name) => `/etc/${name}`),
    ...MACHINE.map((name) => `/proc/${name}`),
  ];
  return [
    ...read.map((path) => ({ path, access: "read" }) as const),
    ...DEVICES.map((name) => ({ path: `/dev/${name}`, access: "device" }) as const),
  ].filter(({ path }) => existsSync(path));
}
