import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";

const CHART = "deploy/chart";

/** Where Debian has sprig, the functions of Helm's templates. */
const GO_PACKAGES = "/usr/share/gocode";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

function documentsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    return document.toJS();
  });
}

const byName = (manifests: readonly Manifest[]): Record<string, Manifest> =>
  Object.fromEntries(manifests.map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]));

/** The manifests of a folder. */
const manifestsIn = (folder: string): readonly Manifest[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => documentsOf(readFileSync(join(folder, file), "utf8")));

/** Says why the chart cannot be rendered here: there is no Helm in Debian or npm, and its engine needs Go. */
function missingForCharts(): string | undefined {
  if (spawnSync("go", ["version"]).error !== undefined) return "go cannot be run";
  return existsSync(join(GO_PACKAGES, "src/github.com/Masterminds/sprig"))
    ? undefined
    : "sprig is not installed";
}

let program = "";

/** Renders the chart with changed values. */
function render(
  values: object = {},
  release = "sandgate",
): { readonly text: string; readonly errors: string; readonly status: number | null } {
  const { stdout, stderr, status } = spawnSync(program, [CHART, release], {
    input: JSON.stringify(values),
    encoding: "utf8",
  });
  return { text: stdout, errors: stderr, status };
}

/** What a person may change, all at once. */
const CHANGED = {
  image: { repository: "registry.example.test/sandgate", tag: "0.1.0-1", pullPolicy: "Always" },
  replicas: 1,
  state: { claim: "sandgate-state" },
  secrets: { tokens: "other-tokens", tls: "other-tls" },
  resources: { limits: { cpu: 2 } },
  terminationGracePeriodSeconds: 60,
  networkPolicy: {
    clients: { team: "agents" },
    egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ protocol: "TCP", port: 5432 }] }],
  },
  files: { "policy.yaml": "rules: []\n" },
  config: "policy: policy.yaml\n",
};

/** Returns what Kubernetes' own types and schemas say of manifests. */
async function problemsOf(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const manifest of manifests) {
    const path = resolve(
      "test/deploy/node_modules/kubernetes-models",
      manifest.apiVersion,
      `${manifest.kind}.js`,
    );
    const { [manifest.kind]: Model } = await import(path);
    try {
      new Model(manifest).validate();
    } catch (error) {
      problems.push(`${manifest.kind} ${manifest.metadata.name}: ${error}`);
    }
  }
  // The schemas pass members that they do not know. TypeScript refuses those of a literal.
  const folder = mkdtempSync(join(resolve("test/deploy/node_modules"), ".checked-"));
  try {
    const lines = manifests.map((manifest, index) => {
      const model = `import("kubernetes-models/${manifest.apiVersion}").I${manifest.kind}`;
      return `export const m${index}: ${model} = ${JSON.stringify(manifest)};\n`;
    });
    writeFileSync(join(folder, "manifests.ts"), lines.join(""));
    const options = [
      "--ignoreConfig",
      "--noEmit",
      "--module",
      "esnext",
      "--moduleResolution",
      "bundler",
      "--skipLibCheck",
    ];
    const { stdout } = spawnSync("tsc", [...options, "manifests.ts"], { cwd: folder, encoding: "utf8" });
    problems.push(...stdout.split("\n").filter((line) => line !== ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
  return problems;
}

describe("deploy/kubernetes", () => {
  test("has manifests that Kubernetes' types and schemas accept", async () => {
    const manifests = [...manifestsIn("deploy/kubernetes"), ...manifestsIn("deploy/kubernetes/durable")];
    expect(manifests.length).toBeGreaterThan(12);
    expect(await problemsOf(manifests)).toEqual([]);
  });

  test.each([
    ["a member that does not exist", { prots: [] }],
    ["a value of another type", { sessionAffinity: 1 }],
  ])("would be refused with %s", async (_, change) => {
    const service = parse(readFileSync("deploy/kubernetes/service.yaml", "utf8"));
    Object.assign(service.spec, change);
    expect((await problemsOf([service])).join("\n")).toContain(Object.keys(change)[0]);
  });
});

const reason = missingForCharts();
if (reason !== undefined) console.warn(`The chart is not rendered: ${reason}`);

describe("deploy/chart", () => {
  test("has the version of the package", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    const chart = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
  });

  describe.skipIf(reason !== undefined)("rendered", () => {
    beforeAll(() => {
      const folder = mkdtempSync(join(tmpdir(), "sandgate-chart-"));
      program = join(folder, "render");
      execFileSync("go", ["build", "-o", program, "test/deploy/render.go"], {
        env: { ...process.env, GO111MODULE: "off", GOPATH: GO_PACKAGES, GOCACHE: join(folder, "cache") },
        stdio: "inherit",
      });
      return () => rmSync(folder, { recursive: true });
    });

    test("gives the manifests of deploy/kubernetes by default", () => {
      expect(byName(documentsOf(render().text))).toEqual(byName(manifestsIn("deploy/kubernetes")));
    });

    test("is what Kubernetes accepts with every value changed, and has each of them", async () => {
      const manifests = documentsOf(render(CHANGED, "tools").text);
      expect(await problemsOf(manifests)).toEqual([]);
      const text = JSON.stringify(manifests);
      expect(Object.keys(byName(manifests)).sort()).toEqual([
        "ConfigMap tools",
        "Deployment tools",
        "NetworkPolicy tools",
        "Service tools",
      ]);
      expect(text).toContain('"image":"registry.example.test/sandgate:0.1.0-1"');
      expect(text).toContain('"persistentVolumeClaim":{"claimName":"sandgate-state"}');
      expect(text).toContain('"strategy":{"type":"Recreate"}');
      expect(text).toContain(
        '"data":{"sandgate.yaml":"policy: policy.yaml\\n","policy.yaml":"rules: []\\n"}',
      );
      expect(text).toContain('"team":"agents"');
      expect(text).toContain('"cidr":"10.0.0.0/8"');
      for (const value of ["other-tokens", "other-tls", '"cpu":2', "Always"]) expect(text).toContain(value);
    });

    test("is refused with several replicas on one volume", () => {
      const { status, errors } = render({ state: { claim: "sandgate-state" } });
      expect(status).toBe(1);
      expect(errors).toContain("state.claim is a volume of one server: set replicas to 1");
    });

    test("has no value that no template uses", () => {
      const used = readdirSync(join(CHART, "templates"))
        .map((file) => readFileSync(join(CHART, "templates", file), "utf8"))
        .join("\n");
      const paths = Object.entries(parse(readFileSync(join(CHART, "values.yaml"), "utf8"))).flatMap(
        ([name, value]) =>
          ["image", "state", "secrets", "networkPolicy"].includes(name)
            ? Object.keys(value as object).map((inner) => `${name}.${inner}`)
            : [name],
      );
      expect(paths.filter((path) => !used.includes(`.Values.${path}`))).toEqual([]);
    });
  });
});

test("docker-compose accepts deploy/compose.yaml", ({ skip }) => {
  const { error, status, stdout, stderr } = spawnSync(
    "docker-compose",
    ["--file", "deploy/compose.yaml", "config"],
    { encoding: "utf8" },
  );
  if (error !== undefined) return skip(`docker-compose cannot be run: ${error.message}`);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(parse(stdout).services.sandgate).toMatchObject({
    image: `sandgate:${version}`,
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
  });
});
