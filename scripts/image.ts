/**
 * Builds the image of the packed package without a registry of images: from the Dockerfile, on a base of Debian's packages and the
 * Node.js of `node_modules`. Needs Debian or a system like it, with `buildah`.
 *
 *     node scripts/image.ts [--out FOLDER]
 *
 * After `npm run build`. FOLDER gets the image as an archive of the Open Container Initiative; default: a temporary folder, which is
 * printed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join, resolve } from "node:path";
import { parseArgs } from "node:util";

/** What the Node.js of nodejs.org needs of a system. It has certificates and time zones of its own. */
const PACKAGES = ["base-files", "libc6", "libgcc-s1", "libstdc++6", "libatomic1"];

const USERS = "root:x:0:0:root:/root:/usr/sbin/nologin\nsandgate:x:10001:10001::/:/usr/sbin/nologin\n";
const GROUPS = "root:x:0:\nsandgate:x:10001:\n";
const NAMES = "passwd: files\ngroup: files\nhosts: files dns\n";

/**
 * Says why no image can be built on this machine, or returns undefined.
 *
 * @param isRun Whether it is run, too.
 */
export function missingForImages(isRun = false): string | undefined {
  if (isRun && process.getuid?.() !== 0) return "only root can run it";
  const programs = ["buildah", "apt-get", "dpkg-deb", "tar"].concat(isRun ? ["umoci", "runc"] : []);
  const missing = programs.filter((program) => spawnSync(program, ["--version"]).error !== undefined);
  return missing.length === 0 ? undefined : `${missing.join(", ")} cannot be run`;
}

/**
 * Builds the image `sandgate:VERSION` into an archive, and returns its path.
 *
 * @param tarball The packed package.
 * @param out The folder for the archive.
 */
export function buildImage(tarball: string, out: string): string {
  const work = mkdtempSync(join(tmpdir(), "sandgate-image-"));
  const version = /^sandgate-(.+)\.tgz$/.exec(basename(tarball))?.[1];
  if (version === undefined) throw new Error(`'${tarball}' is no package of sandgate`);
  const archive = resolve(out, `sandgate-${version}.oci.tar`);
  const context = join(work, "context");
  try {
    mkdirSync(context);
    for (const file of ["package.json", "package-lock.json"]) copyFileSync(file, join(context, file));
    cpSync("deploy/image", join(context, "deploy/image"), { recursive: true });
    copyFileSync(tarball, join(context, basename(tarball)));
    const storage = openStorage(work);
    const base = buildBase(work, storage);
    const build = addNpm(work, base, storage);
    const args = [`BASE=${base}`, `BUILD=${build}`].flatMap((arg) => ["--build-arg", arg]);
    bud(storage, `sandgate:${version}`, "Dockerfile", context, ...args);
    rmSync(archive, { force: true });
    buildah(storage, "push", "--quiet", `sandgate:${version}`, `oci-archive:${archive}:${version}`);
    return archive;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Returns the environment in which `buildah` stores its images in a folder of their own, and reads no others. */
function openStorage(work: string): NodeJS.ProcessEnv {
  const file = join(work, "storage.conf");
  const places = { graphroot: join(work, "images"), runroot: join(work, "run") };
  const lines = Object.entries({ driver: "overlay", ...places }).map(
    ([name, value]) => `${name} = ${JSON.stringify(value)}\n`,
  );
  writeFileSync(file, `[storage]\n${lines.join("")}`);
  return { ...process.env, CONTAINERS_STORAGE_CONF: file };
}

function buildah(env: NodeJS.ProcessEnv, ...args: readonly string[]): void {
  execFileSync("buildah", args, { env, stdio: ["ignore", "inherit", "inherit"] });
}

/** Builds an image. The dates in it are those of the commit, so that the same version gives the same image. */
function bud(env: NodeJS.ProcessEnv, tag: string, file: string, context: string, ...args: string[]): void {
  const date = execFileSync("git", ["log", "-1", "--format=%ct"], { encoding: "utf8" }).trim();
  const how = ["--isolation", "chroot", "--network", "host", "--timestamp", date, "--quiet"];
  buildah(env, "bud", ...how, ...args, "--file", file, "--tag", tag, context);
}

/** Builds a base of Debian's packages, whose signatures apt verifies, and the Node.js of this project. Returns its name. */
function buildBase(work: string, storage: NodeJS.ProcessEnv): string {
  const [root, packages] = [join(work, "root"), join(work, "packages")];
  for (const folder of [root, packages]) mkdirSync(folder);
  // Its own user cannot write to this folder.
  const options = ["--option", "APT::Sandbox::User=root", "--quiet=2"];
  execFileSync("apt-get", [...options, "download", ...PACKAGES], { cwd: packages, stdio: "inherit" });
  // Scanners of images read from there which packages an image has that no dpkg installed.
  const known = join(root, "var/lib/dpkg/status.d");
  for (const file of readdirSync(packages).sort()) {
    const path = join(packages, file);
    const content = execFileSync("dpkg-deb", ["--fsys-tarfile", path], { maxBuffer: 2 ** 28 });
    // A link to a folder, such as /lib, stays one.
    const args = ["--extract", "--keep-directory-symlink", "--directory", root];
    execFileSync("tar", args, { input: content, stdio: ["pipe", "inherit", "inherit"] });
    mkdirSync(known, { recursive: true });
    writeFileSync(join(known, file.split("_", 1).join()), execFileSync("dpkg-deb", ["--field", path]));
  }
  for (const [file, text] of Object.entries({ passwd: USERS, group: GROUPS, "nsswitch.conf": NAMES })) {
    writeFileSync(join(root, "etc", file), text);
  }
  mkdirSync(join(root, "usr/local/bin"), { recursive: true });
  copyFileSync("node_modules/node/bin/node", join(root, "usr/local/bin/node"));
  chmodSync(join(root, "usr/local/bin/node"), 0o755);
  const file = join(work, "base");
  writeFileSync(file, "FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n");
  mkdirSync(join(work, "base-context"));
  execFileSync("mv", [root, join(work, "base-context/root")]);
  bud(storage, "localhost/sandgate-base", file, join(work, "base-context"));
  return "localhost/sandgate-base";
}

/** Adds the npm of this machine, and the certificates with which it reaches its registry, if there are some. */
function addNpm(work: string, base: string, storage: NodeJS.ProcessEnv): string {
  const context = join(work, "npm");
  cpSync(npmFolder(), join(context, "npm"), { recursive: true });
  const certificates = process.env["NODE_EXTRA_CA_CERTS"];
  writeFileSync(join(context, "certificates"), certificates === undefined ? "" : readFileSync(certificates));
  const file = join(work, "build");
  const lines = [
    `FROM ${base}`,
    "COPY npm /usr/local/lib/node_modules/npm",
    "COPY certificates /certificates",
  ];
  if (certificates !== undefined) lines.push("ENV NODE_EXTRA_CA_CERTS=/certificates");
  writeFileSync(file, `${lines.join("\n")}\n`);
  bud(storage, "localhost/sandgate-build", file, context);
  return "localhost/sandgate-build";
}

/** The package of the `npm` on the path, which is a link to `bin/npm-cli.js` in it. */
function npmFolder(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const npm = folders.map((folder) => join(folder, "npm")).find((file) => existsSync(file));
  if (npm === undefined) throw new Error("there is no npm on the path");
  return resolve(realpathSync(npm), "../..");
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { out: { type: "string" } } });
  const missing = missingForImages();
  if (missing !== undefined) {
    console.error(`no image can be built here: ${missing}`);
    process.exitCode = 1;
  } else {
    const out = resolve(values.out ?? mkdtempSync(join(tmpdir(), "sandgate-image-out-")));
    mkdirSync(out, { recursive: true });
    const pack = ["pack", "--silent", "--pack-destination", out];
    const packed = execFileSync("npm", pack, { encoding: "utf8" }).trim();
    console.log(`image: ${buildImage(join(out, packed), out)}`);
  }
}
