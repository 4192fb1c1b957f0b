import { shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import type { MachineReport } from "../../../sandboxes/machine-report.ts";
import { styled } from "../../terminal/styled.ts";
import { wordsOf } from "./holding.ts";
import type { Places } from "./places.ts";

/** Describes what holds on this machine, in lines. */
export function describeMachine(
  { node, sandboxes, process: program, microvm }: MachineReport,
  clock: string,
): readonly ShownText[] {
  const { bubblewrap = "not installed", seccomp, userNamespaces, cgroups } = program;
  const { max, unprivilegedClone, apparmorRestricts } = userNamespaces;
  const settings = [
    ["user.max_user_namespaces", max],
    ["kernel.unprivileged_userns_clone", unprivilegedClone],
    ["kernel.apparmor_restrict_unprivileged_userns", apparmorRestricts],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${value}`]));
  return [
    shown`Node.js: ${node.version}; JSPI: ${node.jspi ? "available" : "missing"}; node:ffi: ${node.ffi}`,
    heading("sandboxes"),
    ...Object.entries(sandboxes).map(([mode, found]) => shown`  ${mode}: ${wordsOf(found)}`),
    heading("programs (sandbox process)"),
    shown`  isolation: ${program.isolation}`,
    ...Object.entries(program.isolations).map(([name, found]) => shown`    ${name}: ${wordsOf(found)}`),
    ...Object.entries(program.notHeld).map(([name, what]) => shown`    not held: ${name}: ${what}`),
    shown`  network: ${wordsOf(program.network)}`,
    shown`  bubblewrap: ${bubblewrap}`,
    shown`  seccomp filter: ${seccomp ? "available" : `none for ${process.platform} on ${process.arch}`}`,
    shown`  user namespaces: ${settings.join(", ") || "no settings found"}`,
    ...Object.entries(cgroups).map(
      ([name, found]) =>
        shown`  cgroup ${name}: ${"version" in found ? `version ${found.version}` : found.reason}`,
    ),
    shown`  limits:`,
    ...Object.entries(program.limits).map(([name, found]) => shown`    ${name}: ${wordsOf(found)}`),
    ...describeMicrovm(microvm),
    shown`clock: ${clock} (UTC)`,
  ];
}

function describeMicrovm(found: MachineReport["microvm"]): readonly ShownText[] {
  if (!found.available) return [];
  const [version = ""] = found.qemu.split("\n", 1);
  return [
    heading("virtual machines (sandbox microvm)"),
    shown`  QEMU: ${version}; ${found.isConfined ? "confined with bubblewrap" : "not confined with bubblewrap"}`,
    shown`  kernel: ${found.kernel}`,
    shown`  KVM: ${found.withoutKvm === undefined ? "can be tried" : `not available: ${found.withoutKvm}`}`,
  ];
}

/** Describes the stores and peers of a config, in lines. */
export function describePlaces({ stores, peers }: Places): readonly ShownText[] {
  return [
    ...(stores.length > 0 ? [heading("stores")] : []),
    ...stores.map(({ name, path, state }) => shown`  ${name}: ${path}: ${wordsOf(state)}`),
    ...(peers.length > 0 ? [heading("peers")] : []),
    ...peers.map(({ kind, url, state, clockAheadS }) => {
      const clock = clockAheadS === undefined ? "" : `; its clock is ${clockAheadS} s ahead`;
      return shown`  ${kind} ${url}: ${wordsOf(state)}${clock}`;
    }),
  ];
}

/** Returns the heading of a part. */
export function heading(text: string): ShownText {
  return styled("heading", new ShownText(`${text}:`));
}
