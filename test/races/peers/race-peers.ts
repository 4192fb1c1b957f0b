/** `npm run test:races -- --peers`: the vectors with other libraries. Prints who passes or fails which class. */
import { install } from "../../../bench/harness/install.ts";
import { runInterleavings } from "../run.ts";
import { SessionsSubject } from "../sessions-subject.ts";
import { readVectors } from "../vector.ts";
import { isAboutRestarts, without } from "./applicable.ts";
import { notPlayed, type PeerColumn, peerTable } from "./peer-table.ts";
import { loadPeers, type PeerSetting, runPeer, versionOf } from "./run-peers.ts";
import { isDiskFull } from "./shelf.ts";

const SETTINGS: readonly (PeerSetting & { readonly title: string })[] = [
  { title: "Answers of a conversation at once", hasLock: false, hasCrashes: true },
  { title: "Answers of a conversation one after another", hasLock: true, hasCrashes: true },
  {
    title: "One after another, and crashes only in the class about restarts",
    hasLock: true,
    hasCrashes: false,
  },
];

/** Plays each vector so often, with each library that installs. */
export async function racePeers(count: number, seed: number): Promise<void> {
  install("peers");
  process.on("unhandledRejection", ignoreDiskFull);
  process.on("rejectionHandled", () => {});
  console.log(`${count} interleavings of each vector, seed ${seed}, Node ${process.version}`);
  const tables: PeerColumn[][] = [];
  for (const setting of SETTINGS) {
    tables.push([{ name: "Sandgate", results: await raceSandgate(setting, count, seed) }]);
  }
  const skip = (module: string, reason: string) => console.error(`(${module} is skipped: ${reason})`);
  for await (const peer of loadPeers(skip)) {
    console.log(`${peer.name}: ${peer.package} ${versionOf(peer)}`);
    for (const [index, setting] of SETTINGS.entries()) {
      tables[index]?.push({ name: peer.name, results: await runPeer(peer, setting, count, seed) });
    }
  }
  for (const [index, { title }] of SETTINGS.entries()) {
    console.log(`\n${title}:\n\n${peerTable(tables[index] ?? [])}`);
  }
  console.log(`\n${notPlayed(tables[0] ?? [])}`);
}

/** The writes that fail on purpose: LangGraph handles some of their rejections late. */
function ignoreDiskFull(error: unknown): void {
  if (!isDiskFull(error)) throw error;
}

async function raceSandgate(
  { hasCrashes }: PeerSetting,
  count: number,
  seed: number,
): ReturnType<typeof runInterleavings> {
  const vectors = readVectors().map((vector) =>
    hasCrashes || isAboutRestarts(vector) ? vector : without(vector, (step) => step.do === "crash"),
  );
  const open: Parameters<typeof runInterleavings>[2] = (store, world) => new SessionsSubject(store, world);
  return runInterleavings(vectors.length * count, seed, open, () => {}, vectors);
}
