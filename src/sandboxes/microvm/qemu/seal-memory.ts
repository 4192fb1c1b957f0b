/**
 * Copies the memory of a saved machine, the end of the file behind descriptor 3, to a file in memory whose bytes nothing can
 * change any more (`F_SEAL_WRITE`, see memfd_create(2) and fcntl(2)). Its argument is the memory's size in bytes. Writes the number of its descriptor, and waits until the starter has
 * opened the file and closes the standard input.
 */
import { open } from "node:fs/promises";
import { addressOf, succeed, systemCall } from "../../process/landlock/child/c-library.ts";
import { copyMemory } from "./memory-file.ts";

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1_033;
/** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE. */
const ALL_SEALS = 1 | 2 | 4 | 8;

const name = Buffer.from("sandgate-machine\0");
const file = succeed(
  "memfd_create",
  systemCall("memfd_create", addressOf(name), MFD_CLOEXEC | MFD_ALLOW_SEALING),
);
{
  await using source = await open("/proc/self/fd/3", "r");
  await using target = await open(`/proc/self/fd/${file}`, "r+");
  const { size } = await source.stat();
  await copyMemory({ file: source, offset: size - Number(process.argv[2]) }, { file: target, offset: 0 });
}
succeed("F_ADD_SEALS", systemCall("fcntl", file, F_ADD_SEALS, ALL_SEALS));
process.stdout.write(`${file}\n`);
process.stdin.resume();
