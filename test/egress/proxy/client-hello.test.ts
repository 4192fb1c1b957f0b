import { createServer } from "node:net";
import { connect } from "node:tls";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
// Inside: cuts a ClientHello in every place and tries random bytes, without a connection for each.
import { ClientHelloReader, type FirstBytes } from "../../../src/egress/proxy/tunnel.ts";
import { listen } from "../servers.ts";

const readClientHello = (bytes: Buffer): FirstBytes => new ClientHelloReader().add(bytes);

async function helloOf(options: object): Promise<Buffer> {
  const first = Promise.withResolvers<Buffer>();
  const port = await listen(createServer((socket) => socket.once("data", first.resolve)));
  const tls = connect({ port, host: "127.0.0.1", ...options });
  tls.on("error", () => {});
  onTestFinished(() => void tls.destroy());
  return await first.promise;
}

/** Puts the message of one record into records of `size` bytes. */
function fragmented(record: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 5; at < record.length; at += size) {
    const part = record.subarray(at, at + size);
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(parts);
}

describe("The first bytes of a connection", () => {
  test("tell the server's name, with each version of TLS", async () => {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"])
      expect(readClientHello(await helloOf({ servername: "a.test", maxVersion }))).toEqual({
        serverNames: ["a.test"],
      });
    expect(readClientHello(await helloOf({}))).toEqual({ serverNames: [] });
  });

  test("tell it when they are whole, and not before", async () => {
    const hello = await helloOf({ servername: "a.test" });
    for (let length = 0; length < hello.length; length++)
      expect(readClientHello(hello.subarray(0, length))).toBe("incomplete");
  });

  test("tell it even if the message is in several records", async () => {
    const hello = await helloOf({ servername: "a.test" });
    for (const size of [1, 7, 100])
      expect(readClientHello(fragmented(hello, size))).toEqual({ serverNames: ["a.test"] });
  });

  test("tell it in whatever pieces they come", async () => {
    const hello = fragmented(await helloOf({ servername: "a.test" }), 3);
    fc.assert(
      fc.property(fc.array(fc.nat(hello.length), { maxLength: 20 }), (cuts) => {
        const reader = new ClientHelloReader();
        let [from, result]: [number, FirstBytes] = [0, "incomplete"];
        for (const to of [...cuts, hello.length].sort((a, b) => a - b)) {
          if (result === "incomplete") result = reader.add(hello.subarray(from, to));
          from = to;
        }
        expect(result).toEqual({ serverNames: ["a.test"] });
      }),
    );
  });

  test("are copied a few times at most if they come in many records and pieces", () => {
    // A message of 60,000 bytes, as it says, in records of one byte.
    const bytes = fragmented(Buffer.from([0, 0, 0, 0, 0, 1, 0, 234, 96, ...Buffer.alloc(10_000)]), 1);
    const concatenations = vi.spyOn(Buffer, "concat");
    onTestFinished(() => concatenations.mockRestore());
    const reader = new ClientHelloReader();
    const results = Array.from(bytes, (byte) => reader.add(Buffer.from([byte])));
    expect(results.at(-1)).toBe("incomplete");
    expect(concatenations.mock.calls.length).toBeLessThan(10);
  });

  test("are not TLS if they are too many", () => {
    const message = Buffer.concat([Buffer.from([1, 1, 0, 64]), Buffer.alloc(65_600)]);
    expect(readClientHello(fragmented(Buffer.concat([Buffer.alloc(5), message]), 1_000))).toBe("not TLS");
  });

  test.each([
    "GET / HTTP/1.1\r\n",
    "SSH-2.0-OpenSSH",
    "\x16\x02",
    "\x16\x03\x01\x00\x00",
    "\x16\x03\x01\x00\x01\x02",
    "\x15",
  ])("are not TLS if they are %j", (text) => {
    expect(readClientHello(Buffer.from(text, "latin1"))).toBe("not TLS");
  });

  test("can be anything", async () => {
    const hello = await helloOf({ servername: "a.test" });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 5 }),
        fc.nat(hello.length),
        (changes, length) => {
          const changed = Buffer.from(hello);
          for (const [at, byte] of changes) changed[at] = byte;
          const read = readClientHello(changed.subarray(0, length));
          expect(typeof read === "string" || Array.isArray(read.serverNames)).toBe(true);
        },
      ),
    );
  });
});
