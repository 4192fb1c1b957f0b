import { existsSync, lstatSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporaryDirectory } from "../../../base/temporary-directory.ts";

/** Directories of programs and their libraries. On most systems, all but the first are links into it. */
export const SYSTEM_DIRECTORIES: readonly string[] = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
];

/** Files of `/etc` that programs need, and that reveal nothing about this machine's users or services. */
export const CONFIGURATION: readonly string[] = [
  "alternatives",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
];

/** The certificate authorities that the machine trusts, which clients of TLS need. */
const CERTIFICATES = [
  "ca-certificates",
  "pki/ca-trust/extracted",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "ssl/cert.pem",
  "ssl/certs",
  "ssl/openssl.cnf",
];

/** All directories of this machine that programs see at their own paths. */
export const SHOWN_DIRECTORIES: readonly string[] = [
  ...SYSTEM_DIRECTORIES,
  ...[...CONFIGURATION, ...CERTIFICATES].map((name) => `/etc/${name}`),
].filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());

/** Files of `/proc` that reveal details of this machine or its kernel, or that root could change. */
const HIDDEN = [
  "cmdline",
  "config.gz",
  "iomem",
  "ioports",
  "kallsyms",
  "kcore",
  "key-users",
  "keys",
  "kmsg",
  "kpagecgroup",
  "kpagecount",
  "kpageflags",
  "mtrr",
  "pagetypeinfo",
  "sched_debug",
  "slabinfo",
  "sysrq-trigger",
  "timer_list",
  "vmallocinfo",
];
const READ_ONLY = [
  "acpi",
  "asound",
  "bus",
  "driver",
  "dynamic_debug",
  "fs",
  "irq",
  "pressure",
  "scsi",
  "sys",
  "tty",
];

/** The size of `/tmp` and of `/dev/shm`, which are in memory. */
const TEMPORARY_BYTES = 64 * 1_024 * 1_024;

/** The only user in the sandbox. Files of the user that this process runs as appear as its own. */
export const USER_ID = 1_000;

const PASSWD = `agent:x:${USER_ID}:${USER_ID}::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`;
const HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n";
/**
 * A server at an address that no network has (RFC 5737): a program that looks up a name fails at once, and that it tried is
 * counted. Without this file it would ask at the loopback interface.
 */
const RESOLVER = "nameserver 192.0.2.1\noptions attempts:1\n";
const GROUP = `agent:x:${USER_ID}:\nnogroup:x:65534:\n`;

/** Files that every sandbox gets, in a directory that {@link SystemFiles.close} removes. */
export class SystemFiles implements Disposable {
  /** The options with which bubblewrap shows the system's files, and covers what must not be seen. */
  readonly args: readonly string[];
  /** The options that show the certificate authorities to programs with a way to the network. */
  readonly certificateArgs: readonly string[];
  readonly directory: string = makeTemporaryDirectory("process");

  constructor() {
    const passwd = join(this.directory, "passwd");
    const group = join(this.directory, "group");
    writeFileSync(passwd, PASSWD);
    writeFileSync(group, GROUP);
    const hosts = join(this.directory, "hosts");
    writeFileSync(hosts, HOSTS);
    const resolver = join(this.directory, "resolv.conf");
    writeFileSync(resolver, RESOLVER);
    this.certificateArgs = CERTIFICATES.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]);
    this.args = [
      ...SYSTEM_DIRECTORIES.flatMap(showDirectory),
      ...CONFIGURATION.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
      "--ro-bind",
      passwd,
      "/etc/passwd",
      "--ro-bind",
      group,
      "/etc/group",
      "--ro-bind",
      hosts,
      "/etc/hosts",
      "--ro-bind",
      resolver,
      "/etc/resolv.conf",
      "--proc",
      "/proc",
      "--dev",
      "/dev",
      ...["/tmp", "/dev/shm"].flatMap((path) => [
        "--size",
        `${TEMPORARY_BYTES}`,
        "--perms",
        "1777",
        "--tmpfs",
        path,
      ]),
      ...READ_ONLY.flatMap((name) => existing(`/proc/${name}`, (path) => ["--ro-bind", path, path])),
      ...HIDDEN.flatMap((name) => existing(`/proc/${name}`, (path) => ["--ro-bind", "/dev/null", path])),
    ];
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function showDirectory(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink()
    ? ["--symlink", readlinkSync(path), path]
    : ["--ro-bind", path, path];
}

function existing(path: string, args: (path: string) => readonly string[]): readonly string[] {
  return existsSync(path) ? args(path) : [];
}
