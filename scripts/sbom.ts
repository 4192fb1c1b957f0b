import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { BUNDLED } from "./bundled-packages.ts";

/** A package in an SBOM. */
interface Component {
  readonly name: string;
  readonly group?: string;
  readonly version: string;
  readonly "bom-ref": string;
  readonly scope?: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** The parts of an SBOM in CycloneDX that are used here. */
interface Sbom {
  readonly components: readonly Component[];
  readonly metadata: { readonly component: { readonly "bom-ref": string } };
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

const DEVELOPMENT = "cdx:npm:package:development";

/**
 * Returns the SBOM of the package in the working directory: its dependencies with theirs, and the packages that are bundled,
 * which npm counts as dependencies of its development. `npm sbom --omit=dev` would leave out every dependency that is also one
 * of a tool of development.
 */
export function readSbom(): object {
  const sbom = read();
  const { dependencies: own = {} }: Manifest = JSON.parse(readFileSync("package.json", "utf8"));
  const dependsOn = new Map(sbom.dependencies.map((entry) => [entry.ref, entry.dependsOn]));
  const direct = sbom.components.filter((component) => own[nameOf(component)] === component.version);
  // A set also visits what is added to it meanwhile.
  const installed = new Set(direct.map((component) => component["bom-ref"]));
  for (const ref of installed) for (const next of dependsOn.get(ref) ?? []) installed.add(next);
  const bundled = sbom.components.filter(
    (component) => isBundled(component) && !installed.has(component["bom-ref"]),
  );
  const components = sbom.components.flatMap((component) => {
    if (installed.has(component["bom-ref"])) return [asInstalled(component)];
    return bundled.includes(component) ? [asBundled(component)] : [];
  });
  const root = sbom.metadata.component["bom-ref"];
  const dependencies = [
    { ref: root, dependsOn: [...direct, ...bundled].map((component) => component["bom-ref"]) },
    ...Array.from(installed, (ref) => ({ ref, dependsOn: dependsOn.get(ref) ?? [] })),
    ...bundled.map((component) => ({ ref: component["bom-ref"], dependsOn: [] })),
  ];
  return { ...sbom, components, dependencies };
}

function isBundled(component: Component): boolean {
  return BUNDLED.has(nameOf(component));
}

/** The same component, not as one of development. */
function asInstalled(component: Component): Component {
  const { properties = [], ...others } = component;
  return { ...others, scope: "required", properties: properties.filter(({ name }) => name !== DEVELOPMENT) };
}

function asBundled(component: Component): Component {
  const { properties = [], ...others } = asInstalled(component);
  return { ...others, properties: [...properties, { name: "sandgate:bundled", value: "true" }] };
}

function read(): Sbom {
  const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx"];
  const text = execFileSync("npm", args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 26,
  });
  return { components: [], dependencies: [], ...JSON.parse(text) };
}

/** A scoped name stands in two members, or in one. */
function nameOf({ group, name }: Component): string {
  return group === undefined || name.startsWith("@") ? name : `${group}/${name}`;
}
