import { spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
// Inside: lists the problems of the config; a server that starts with it shows only that there are some.
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import { Authority } from "../../certificates.ts";
import { createFolder } from "../../cli/sandgate.ts";
import { start } from "../../cli/serve.ts";
import { freePorts } from "../../restate/free-ports.ts";
import { restateServer, startRestate } from "../../restate/restate-nodes.ts";

const FOLDER = "deploy/kubernetes/durable";
const files = readdirSync(FOLDER).map((file) => ({ file, text: readFileSync(join(FOLDER, file), "utf8") }));
const documents = files.flatMap(({ text }) => parseAllDocuments(text));
const manifests = documents.map((document) => document.toJS());

/** Returns the manifest of a kind and a name. */
// biome-ignore lint/suspicious/noExplicitAny: manifests have any shape
function manifest(kind: string, name: string): any {
  const found = manifests.filter((each) => each.kind === kind && each.metadata.name === name);
  expect(found, `${kind} ${name}`).toHaveLength(1);
  return found[0];
}

const restate = manifest("StatefulSet", "restate").spec;
const sandgate = manifest("Deployment", "sandgate").spec;
const workloads = [restate, sandgate];
const [node] = restate.template.spec.containers;
const [server] = sandgate.template.spec.containers;
const toml: string = manifest("ConfigMap", "restate").data["restate.toml"];
const yaml: string = manifest("ConfigMap", "sandgate").data["sandgate.yaml"];
const config = parse(yaml);
const { drainDelay, drainTime } = config.server.limits;

interface Port {
  readonly name: string;
  readonly containerPort: number;
}

interface Peer {
  readonly podSelector?: { readonly matchLabels: Record<string, string> };
}

/** The number of a port of a container. */
function portOf(container: { readonly ports: readonly Port[] }, name: string): number | undefined {
  return container.ports.find((port) => port.name === name)?.containerPort;
}

/** Which pods reach which ports, as a policy says: `app=sandgate → 8080`. */
function allowed(policy: string, direction: "ingress" | "egress"): readonly string[] {
  const rules = manifest("NetworkPolicy", policy).spec[direction];
  return rules.flatMap((rule: { from?: Peer[]; to?: Peer[]; ports: { port: number }[] }) =>
    (rule.from ?? rule.to ?? []).flatMap(({ podSelector }) =>
      rule.ports.map(({ port }) => {
        const [label] = Object.entries(podSelector?.matchLabels ?? { any: "pod" });
        return `${label?.join("=")} → ${port}`;
      }),
    ),
  );
}

describe("The manifests of sessions on Restate", () => {
  test("are valid YAML, and name what they need", () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    for (const { template } of workloads) {
      const { volumes, containers } = template.spec;
      const mounted = containers[0].volumeMounts.map(({ name }: { name: string }) => name);
      const claimed = (restate.template === template ? restate.volumeClaimTemplates : []).map(
        ({ metadata }: { metadata: { name: string } }) => metadata.name,
      );
      const named = volumes.map(({ name }: { name: string }) => name);
      expect(mounted.sort()).toEqual([...named, ...claimed].sort());
      for (const { configMap } of volumes) if (configMap !== undefined) manifest("ConfigMap", configMap.name);
    }
    const secrets = workloads.flatMap(({ template }) =>
      template.spec.volumes.flatMap(({ secret }: { secret?: { secretName: string } }) => secret ?? []),
    );
    const text = files.map((each) => each.text).join();
    for (const { secretName } of secrets) {
      expect(text).toMatch(new RegExp(`^# kubectl create secret (generic|tls) ${secretName} `, "m"));
    }
  });

  test("have Services that select the pods, and ports that these have", () => {
    const services = [
      ["restate", restate],
      ["restate-cluster", restate],
      ["sandgate", sandgate],
      ["sandgate-worker", sandgate],
    ] as const;
    for (const [name, { selector, template }] of services) {
      const { spec } = manifest("Service", name);
      expect(selector.matchLabels).toEqual(template.metadata.labels);
      expect(spec.selector).toEqual(template.metadata.labels);
      for (const { port, targetPort } of spec.ports) {
        expect(portOf(template.spec.containers[0], targetPort), name).toBe(port);
      }
    }
    expect(manifest("Service", restate.serviceName).spec.clusterIP).toBe("None");
    expect(manifest("Service", "sandgate-worker").spec.publishNotReadyAddresses).toBe(true);
    for (const { readinessProbe, livenessProbe, ports } of [node, server]) {
      for (const probe of [readinessProbe, livenessProbe].filter((each) => each !== undefined)) {
        expect(ports.map(({ name }: Port) => name)).toContain(probe.httpGet.port);
      }
    }
  });

  test("have configs that name the Services and the ports", () => {
    const { restate: settings } = config.durable;
    expect(settings.ingress).toBe(`http://restate:${portOf(node, "ingress")}`);
    expect(settings.admin).toBe(`http://restate:${portOf(node, "admin")}`);
    expect(settings.advertise).toBe(`http://sandgate-worker:${portOf(server, "worker")}`);
    expect(settings.listen).toEqual({ host: "0.0.0.0", port: portOf(server, "worker") });
    expect(config.server.listen).toBe(`0.0.0.0:${portOf(server, "https")}`);
    expect(config.server.hosts).toEqual([`sandgate:${portOf(server, "https")}`]);
    const fabric = `${restate.serviceName}:${portOf(node, "node")}`;
    expect(toml).toContain(`addresses = ["http://${fabric}"]`);
    expect(node.env).toContainEqual({
      name: "RESTATE_ADVERTISED_ADDRESS",
      value: `http://$(RESTATE_NODE_NAME).${fabric}`,
    });
    expect(restate.replicas).toBe(3);
    const seconds = Number.parseInt(drainDelay, 10) + Number.parseInt(drainTime, 10) + 10;
    expect(sandgate.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds);
  });

  test("let only Sandgate reach Restate, and only Restate the port of workers", () => {
    for (const name of ["restate", "sandgate"]) {
      const { podSelector, policyTypes } = manifest("NetworkPolicy", name).spec;
      expect(podSelector.matchLabels).toEqual({ app: name });
      expect(policyTypes).toEqual(["Ingress", "Egress"]);
    }
    expect(allowed("restate", "ingress")).toEqual([
      "app=sandgate → 8080",
      "app=sandgate → 9070",
      "app=restate → 5122",
    ]);
    expect(allowed("restate", "egress")).toEqual([
      "app=restate → 5122",
      "app=sandgate → 9080",
      "any=pod → 53",
      "any=pod → 53",
    ]);
    expect(allowed("sandgate", "ingress")).toEqual(["sandgate-client=true → 7420", "app=restate → 9080"]);
    expect(allowed("sandgate", "egress")).toEqual([
      "app=restate → 8080",
      "app=restate → 9070",
      "any=pod → 53",
      "any=pod → 53",
    ]);
  });

  test("run nothing as root", () => {
    for (const { template } of workloads) {
      expect(template.spec.securityContext.runAsNonRoot).toBe(true);
      expect(template.spec.automountServiceAccountToken).toBe(false);
      expect(template.spec.containers[0].securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  });

  test("have a config of Restate that this version reads as it is meant", async () => {
    const folder = await createFolder({ "restate.toml": toml });
    const { stdout, stderr, status } = spawnSync(
      restateServer(),
      ["--config-file", join(folder, "restate.toml"), "--base-dir", "/restate-data", "--dump-config"],
      {
        encoding: "utf8",
        timeout: 20_000,
        env: {
          RESTATE_NODE_NAME: "restate-0",
          RESTATE_ADVERTISED_ADDRESS: "http://restate-0.restate-cluster:5122",
        },
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const line of [
      'node-name = "restate-0"',
      'advertised-address = "http://restate-0.restate-cluster:5122/"',
      "auto-provision = false",
      "default-replication = 2",
      "disable-telemetry = true",
      'request-identity-private-key-pem-file = "/run/secrets/restate/private.pem"',
      'base-dir = "/restate-data"',
    ]) {
      expect(stdout).toContain(`${line}\n`);
    }
  });

  test("have a config of Sandgate with which Restate calls it, and nothing else does", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    using authority = new Authority();
    const { cert, key } = authority.issue();
    const [port = 0] = await freePorts(1);
    const folder = await createFolder({
      "private.pem": privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      "tls.crt": cert,
      "tls.key": key,
      agent: "a-token-of-the-agent-that-is-long",
      ann: "a-token-of-ann-that-is-long-enough",
    });
    vi.stubEnv("RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", join(folder, "private.pem"));
    onTestFinished(() => void vi.unstubAllEnvs());
    await using nodes = await startRestate();
    const [{ ingress = "", admin = "" } = {}] = nodes.nodes;
    const own = yaml
      .replace("http://restate:8080", ingress)
      .replace("http://restate:9070", admin)
      .replace("port: 9080", `port: ${port}`)
      .replace("http://sandgate-worker:9080", `http://127.0.0.1:${port}`)
      .replace("publickeyv1_REPLACE", shown(publicKey))
      .replaceAll(/\/run\/secrets\/[a-z-]+/g, folder);
    await writeFile(join(folder, "sandgate.yaml"), own);
    const { problems } = await loadConfig(join(folder, "sandgate.yaml"));
    expect(problems).toEqual([]);
    const { child } = await start(folder);
    expect(await statusOf(`http://127.0.0.1:${port}`, "/discover")).toBe(401);
    child.kill("SIGTERM");
  });
});

/** A public key as Restate shows it: its 32 bytes in base 58. */
function shown(key: KeyObject): string {
  const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  let value = BigInt(`0x${key.export({ type: "spki", format: "der" }).subarray(-32).toString("hex")}`);
  let text = "";
  for (; value > 0n; value /= 58n) text = `${alphabet[Number(value % 58n)]}${text}`;
  return `publickeyv1_${text}`;
}

/** Sends a request over HTTP/2, without a signature. */
async function statusOf(url: string, path: string): Promise<number | undefined> {
  const client = connect(url);
  try {
    const sent = client.request({
      ":path": path,
      accept: "application/vnd.restate.endpointmanifest.v3+json",
    });
    sent.end();
    return await new Promise((resolve, reject) => {
      sent.once("response", ({ ":status": status }) => resolve(status));
      sent.once("error", reject);
    });
  } finally {
    client.destroy();
  }
}
