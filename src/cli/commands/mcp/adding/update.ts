import { guardFiles } from "../../../../base/guarded-files.ts";
import { changedValues, showChanges } from "../../../../pins/show-changes.ts";
import { shown } from "../../../../rendering/shown.ts";
import {
  describeInstallation,
  type InstalledPackage,
  installationOf,
  isInstalled,
  PackageProblem,
  parsePackage,
} from "../../../config/server-package.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  type Terminal,
} from "../../../terminal.ts";
import { ConfigFile } from "./config-file.ts";
import { installPackage } from "./install-package.ts";

/** Options of `sandgate mcp update`. */
interface UpdateOptions {
  readonly config: string;
  /** The name of the server in the config. */
  readonly server: string;
  /** A version, a range or a tag. Default: `latest`. */
  readonly version: string | undefined;
  /** Whether scripts of packages run when they are installed. */
  readonly scripts: boolean;
}

/** Installs another version of a server's package, shows which packages change with it, and writes it to the config. */
export async function update(
  { config, server, version = "latest", scripts }: UpdateOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { stdout, stderr, signal } = terminal;
  guardFiles([{ path: config, access: "read" }]);
  const file = await ConfigFile.open(config);
  const before = packagesOf(file).get(server);
  if (before === undefined) {
    await print(stderr, shown`sandgate: ${config} has no server '${server}' with a package`);
    return EXIT_BAD_INPUT;
  }
  try {
    const after = await installPackage({ name: before.name, version }, { scripts, signal });
    if (after.version === before.version) {
      await print(stdout, shown`'${server}' has npm:${after.name}@${after.version} already`);
      return EXIT_OK;
    }
    const values = changedValues(
      isInstalled(before) ? await describeInstallation(before) : {},
      await describeInstallation(after),
    );
    await print(
      stdout,
      showChanges([{ kind: "servers", name: `${server}/package`, change: "changed", values }]),
    );
    file.setPackage(server, `npm:${after.name}@${after.version}`);
    await file.save();
    await print(
      stderr,
      shown`Next: sandgate mcp diff --config ${config} shows what its tools say now, and approves it with --accept. Until then, with a lock, the server is not started. Back: sandgate mcp update ${server} ${before.version} --config ${config}`,
    );
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof PackageProblem)) throw error;
    await print(stderr, shown`sandgate: ${error.message}`);
    return EXIT_TOOL_FAILED;
  }
}

/** Installs the packages of a config's servers that are missing on this machine. */
export async function install(
  { config, scripts }: Pick<UpdateOptions, "config" | "scripts">,
  { stdout, stderr, signal }: Terminal,
): Promise<ExitCode> {
  guardFiles([{ path: config, access: "read" }]);
  const packages = packagesOf(await ConfigFile.open(config));
  let code: ExitCode = EXIT_OK;
  for (const [server, { name, version }] of packages) {
    try {
      await installPackage({ name, version }, { scripts, signal });
      await print(stdout, shown`'${server}': npm:${name}@${version} is installed`);
    } catch (error) {
      if (!(error instanceof PackageProblem)) throw error;
      await print(stderr, shown`sandgate: ${error.message}`);
      code = EXIT_TOOL_FAILED;
    }
  }
  if (packages.size === 0) await print(stdout, shown`${config} has no server with a package`);
  return code;
}

function packagesOf({ servers }: ConfigFile): ReadonlyMap<string, InstalledPackage> {
  const found = new Map<string, InstalledPackage>();
  for (const [server, { package: text }] of Object.entries(servers)) {
    const version = typeof text === "string" ? parsePackage(text) : undefined;
    if (version !== undefined) found.set(server, installationOf(version));
  }
  return found;
}
