import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { COMMANDS, parseCommandLine } from "../../../src/cli/run.ts";
import { Authority } from "../../certificates.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

const dockerfile = readFileSync("Dockerfile", "utf8");
const unit = readFileSync("deploy/sandgate.service", "utf8");
const manifests = Object.fromEntries(
  readdirSync("deploy/kubernetes")
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => {
      const manifest = parse(readFileSync(`deploy/kubernetes/${file}`, "utf8"));
      return [manifest.kind, manifest];
    }),
);
const { template } = manifests["Deployment"].spec;
const [container] = template.spec.containers;
const config: string = manifests["ConfigMap"].data["sandgate.yaml"];

/** Starts the server of the ConfigMap on a free port, with a token of its own. */
async function serve(): Promise<{
  /** Returns the status of the response to a GET request. */
  status(path: string): Promise<number>;
  readonly server: ReturnType<typeof spawn>;
  logged(event: string): Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-deployment-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "token"), "a-token-that-is-long-enough-for-the-server");
  using authority = new Authority();
  const { cert, key } = authority.issue();
  const { cert: ca } = authority;
  await writeFile(join(folder, "tls.crt"), cert);
  await writeFile(join(folder, "tls.key"), key);
  const { token, tls } = parse(config).server;
  const own = [token.file, tls.cert, tls.key].reduce(
    (text: string, file: string) => text.replace(file, join(folder, basename(file))),
    config,
  );
  await writeFile(join(folder, "sandgate.yaml"), own);
  const args = [
    "src/cli/main.ts",
    "serve",
    "--config",
    join(folder, "sandgate.yaml"),
    "--listen",
    "127.0.0.1:0",
  ];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void server.kill("SIGKILL"));
  const events = new Map<string, PromiseWithResolvers<void>>();
  const waiting = (event: string): PromiseWithResolvers<void> => {
    const known = events.get(event) ?? Promise.withResolvers<void>();
    events.set(event, known);
    return known;
  };
  createInterface({ input: server.stderr }).on("line", (line) => {
    if (line.startsWith("{")) waiting(JSON.parse(line).event).resolve();
  });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  return {
    status: async (path) => {
      const { scheme } = container.livenessProbe.httpGet;
      expect(scheme).toBe("HTTPS");
      const [host, port] = String(line).replace("listening on ", "").split(":");
      const sent = request({ host, port, path, ca, agent: false });
      sent.end();
      const [response] = await once(sent, "response");
      response.resume();
      return response.statusCode;
    },
    server,
    logged: (event) => waiting(event).promise,
  };
}

test("the server of the ConfigMap answers the probes, reloads on SIGHUP and drains on SIGTERM", async () => {
  const { status, server, logged } = await serve();
  const { path: alive } = container.livenessProbe.httpGet;
  const { path: ready } = container.readinessProbe.httpGet;
  expect([await status(alive), await status(ready)]).toEqual([200, 200]);
  const [, reload = ""] = /^ExecReload=\/bin\/kill -(\w+) \$MAINPID$/m.exec(unit) ?? [];
  server.kill(`SIG${reload}` as NodeJS.Signals);
  await logged("config.reloaded");
  const [, stop] = /^STOPSIGNAL (\w+)$/m.exec(dockerfile) ?? [];
  const exit = once(server, "exit");
  server.kill(stop as NodeJS.Signals);
  await logged("server.stopping");
  expect([await status(alive), await status(ready)]).toEqual([200, 503]);
  expect(await exit).toEqual([0, null]);
});

test("the ports of the server, the container, the Service, the NetworkPolicy and the image are the same", () => {
  const port = Number(parse(config).server.listen.split(":")[1]);
  const [exposed] = container.ports;
  expect(exposed.containerPort).toBe(port);
  for (const probe of [container.livenessProbe, container.readinessProbe]) {
    expect(probe.httpGet.port).toBe(exposed.name);
  }
  expect(manifests["Service"].spec.ports).toEqual([
    expect.objectContaining({ port, targetPort: exposed.name }),
  ]);
  expect(manifests["NetworkPolicy"].spec.ingress[0].ports).toEqual([{ protocol: "TCP", port }]);
  expect(dockerfile).toContain(`\nEXPOSE ${port}\n`);
  expect(parse(config).server.hosts).toEqual([`${manifests["Service"].metadata.name}:${port}`]);
});

test("the Service and the NetworkPolicy select the pods of the Deployment", () => {
  const { labels } = template.metadata;
  expect(manifests["Deployment"].spec.selector.matchLabels).toEqual(labels);
  expect(manifests["Service"].spec.selector).toEqual(labels);
  expect(manifests["NetworkPolicy"].spec.podSelector.matchLabels).toEqual(labels);
});

test("Kubernetes and systemd wait longer than the server drains", () => {
  const { drainDelay, drainTime } = parse(config).server.limits;
  const seconds = Number.parseInt(drainDelay, 10) + Number.parseInt(drainTime, 10);
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds);
  expect(Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1])).toBeGreaterThan(seconds);
});

test("the image, the pods and the unit run the same command, not as root", () => {
  const entry = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? "[]");
  const command = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? "[]");
  expect(container.args).toEqual(command);
  expect(unit).toContain(`\nExecStart=/usr/bin/${[...entry, ...command].join(" ")}\n`);
  expect(parseCommandLine(command, COMMANDS).name).toBe("serve");
  expect(dockerfile).toContain(`\nUSER ${template.spec.securityContext.runAsUser}:`);
  expect(template.spec.securityContext.runAsNonRoot).toBe(true);
  expect(container.securityContext).toMatchObject({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
});

test("Kubernetes knows every field of the Deployment and the Service", ({ skip }) => {
  // These read the types of Kubernetes, without a cluster, and drop what they do not know.
  for (const [kind, file, ...change] of [
    ["Deployment", "deployment.yaml", "set", "image", "sandgate=sandgate:checked"],
    ["Service", "service.yaml", "set", "selector", "checked=yes"],
  ] as const) {
    const [verb, noun, value] = change;
    const args = [
      verb,
      noun,
      "--local",
      "--filename",
      `deploy/kubernetes/${file}`,
      value,
      "--output",
      "json",
    ];
    const { error, stdout, stderr } = spawnSync("kubectl", args, { encoding: "utf8" });
    if (error !== undefined) return skip(`kubectl cannot be run: ${error.message}`);
    expect(stderr).toBe("");
    const manifest = structuredClone(manifests[kind]);
    if (kind === "Deployment") manifest.spec.template.spec.containers[0].image = "sandgate:checked";
    else manifest.spec.selector = { checked: "yes" };
    expect(JSON.parse(stdout)).toMatchObject(manifest);
  }
});

test("docs/deployment.md: the config beside the compose file is one that sandgate check accepts", async () => {
  const text = readFileSync("docs/deployment.md", "utf8");
  const [, yaml = ""] = /^```yaml file=config\/sandgate\.yaml\n(.*?)^```$/ms.exec(text) ?? [];
  const whole = JSON.stringify({ ...parse(config), ...parse(yaml) });
  const folder = await createFolder({
    "sandgate.yaml": whole,
    token: "a-token-that-is-long-enough-for-the-server",
  });
  const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [port] = parse(readFileSync("deploy/compose.yaml", "utf8")).services.sandgate.ports;
  expect(port).toBe(`127.0.0.1:${parse(yaml).server.listen.split(":")[1]}:7420`);
});

test("docs/deployment.md: the unit's config is accepted with the secrets that systemd copies for it", async () => {
  const text = readFileSync("docs/deployment.md", "utf8");
  const blocks = Object.fromEntries(
    Array.from(
      text.matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gms),
      ([, file = "", body = ""]) => [file, body] as const,
    ),
  );
  const dropIn = blocks["/etc/systemd/system/sandgate.service.d/secrets.conf"] ?? "";
  const secrets = Array.from(dropIn.matchAll(/^LoadCredential=(\S+):\/etc\/sandgate\/(\S+)$/gm));
  for (const [, name, file] of secrets) expect(name).toBe(file);
  const folder = await createFolder(
    Object.fromEntries(secrets.map(([, name = ""]) => [name, `the-secret-${name}-that-is-long`])),
  );
  await rm(join(folder, "journal.key"));
  await sandgate([
    "journal",
    "keygen",
    "--name",
    "example.com/journal",
    "--out",
    join(folder, "journal.key"),
  ]);
  const yaml = blocks["/etc/sandgate/sandgate.yaml"] ?? "";
  await writeFile(
    join(folder, "sandgate.yaml"),
    yaml.replaceAll("/run/credentials/sandgate.service", folder),
  );
  const { code, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("systemd accepts the unit", ({ skip }) => {
  const { error, status, stderr } = spawnSync("systemd-analyze", ["verify", "deploy/sandgate.service"], {
    encoding: "utf8",
  });
  if (error !== undefined) return skip(`systemd-analyze cannot be run: ${error.message}`);
  // The command may not be installed here.
  const problems = stderr.split("\n").filter((line) => line !== "" && !line.includes("is not executable"));
  expect({ problems, status: problems.length === 0 ? 0 : status }).toEqual({ problems: [], status: 0 });
});
