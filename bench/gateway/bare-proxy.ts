import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";

// A process of its own: passes requests on to an origin, and decides nothing. Its arguments are the origin and a port (default: any).
const [origin = "", port = "0"] = process.argv.slice(2);
const pool = new Pool(origin);
const server = createServer(async (request, response) => {
  const { method = "GET", url = "/", headers } = request;
  const { connection, host, "transfer-encoding": _, ...passed } = headers;
  const answered = await pool.request({
    path: url,
    method: method as "POST",
    headers: passed as Record<string, string>,
    body: method === "POST" ? request : null,
  });
  response.writeHead(answered.statusCode, answered.headers as Record<string, string>);
  answered.body.pipe(response);
});
process.once("disconnect", () => process.exit());
server.listen(Number(port), "127.0.0.1");
await once(server, "listening");
process.send?.((server.address() as AddressInfo).port);
