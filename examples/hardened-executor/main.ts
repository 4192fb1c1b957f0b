// Run it after `npm run build`: node examples/hardened-executor/main.ts /tmp/executor.sock [UID [GID]]
import { once } from "node:events";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startHardened } from "./start-hardened.ts";

const [path = "executor.sock", uid, gid = uid] = process.argv.slice(2);
const socket = resolve(path);
const child = await startHardened({
  config: fileURLToPath(new URL("sandgate.yaml", import.meta.url)),
  socket,
  ...(uid !== undefined && { user: { uid: Number(uid), gid: Number(gid) } }),
});
console.log(`listening on unix:${socket}`);
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill("SIGTERM"));
const [status] = await once(child, "exit");
process.exitCode = status ?? 1;
