import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { type CallSetting, GrantedTool } from "../granted-tool.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const toolOf = (body: string, before = ""): GrantedTool =>
  new GrantedTool(sandboxes, `${before}\nexport default async (input, { signal }) => { ${body} }`);
const run = (body: string, setting?: CallSetting) => toolOf(body).call(setting);
const CATCH = (code: string): string =>
  `try { await (async () => { ${code} })(); } catch ({ name, message }) { return [name, message]; }`;

describe("timers", () => {
  test("timers run in the order in which they are due, after all promise jobs", async () => {
    const { output } = await run(`
      const seen = [];
      const see = (name) => () => seen.push(name);
      const last = new Promise((done) => setTimeout(() => { seen.push("last"); done(); }, 1_000));
      setTimeout(see("later"), 500);
      setTimeout(see("first"));
      setTimeout((...args) => seen.push(args.join()), 0, "second", 2);
      clearTimeout(setTimeout(see("never"), 0));
      queueMicrotask(see("job"));
      await last;
      let ticks = 0;
      await new Promise((done) => {
        const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); setTimeout(done, 20); } }, 1);
      });
      return [...seen, ticks];`);
    expect(output).toEqual(["job", "first", "second,2", "later", "last", 3]);
  });

  test("a call that waits for a timer leaves its thread to others", async () => {
    const waiting = run("await new Promise((done) => setTimeout(done, 60_000))", {
      limits: { wallTimeMs: 700 },
    });
    expect((await run("return 1")).output).toBe(1);
    const { error, receipt } = await waiting;
    expect(error).toMatchObject({ code: "timeout", effect: "none" });
    // Timers of Node.js run up to a millisecond early.
    expect(receipt.used.wallTimeMs).toBeGreaterThanOrEqual(699);
  });

  test("timers end with their call, and those of a module never run", async () => {
    const tool = toolOf(
      "setTimeout(() => { count++; }, 1); return count;",
      "let count = 0; setInterval(() => count++, 1);",
    );
    for (let call = 0; call < 3; call++) expect((await tool.call()).output).toBe(0);
  });

  test("an error of a timer is logged, and the call continues", async () => {
    const { output } = await run(
      "setTimeout(() => { throw new Error('x'); }); return new Promise((done) => setTimeout(() => done('on'), 2));",
    );
    expect(output).toBe("on");
  });

  test("a frozen clock does not stop timers", async () => {
    const { output } = await run(
      "const from = performance.now(); await new Promise((done) => setTimeout(done, 5)); return [Date.now(), performance.now() - from];",
      { capabilities: { frozenClock: 1_000 } },
    );
    expect(output).toEqual([1_000, 0]);
  });

  test("a call has a bounded number of timers, and of waits for them", async () => {
    const { output } = await run(CATCH("for (;;) setTimeout(() => {}, 1e6);"));
    expect(output).toEqual(["RangeError", "a call can have at most 10,000 timers at once"]);
    const { error } = await run("await new Promise(() => setInterval(() => {}, 1));", {
      limits: { wallTimeMs: 60_000 },
    });
    expect(error?.message).toBe("Tool waited for timers 1,000 times, the most that a call can");
  });

  test("timers that are always due do not outlast the deadline", async () => {
    const again = "const again = () => setTimeout(again); again(); await new Promise(() => {});";
    expect((await run(again, { limits: { wallTimeMs: 200 } })).error?.code).toBe("timeout");
  });
});

describe("crypto", () => {
  const DRAW = `const bytes = crypto.getRandomValues(new Uint8Array(20)).join();
    await new Promise((done) => setTimeout(done, 1));
    return [bytes, crypto.randomUUID()];`;

  test("random bytes follow from the grant's seed, and otherwise differ", async () => {
    const draw = async (randomSeed?: string): Promise<unknown> =>
      (await run(DRAW, { capabilities: { random: true, ...(randomSeed !== undefined && { randomSeed }) } }))
        .output;
    const seeded = await draw("a");
    expect(await draw("a")).toEqual(seeded);
    expect(await draw("b")).not.toEqual(seeded);
    expect(await draw()).not.toEqual(await draw());
    expect((seeded as string[])[1]).toMatch(
      /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
  });

  test("random bytes need a grant, and a call", async () => {
    expect((await run(CATCH(DRAW))).output).toEqual([
      "NotAllowedError",
      "crypto: this call may not draw random bytes (capabilities.random is not granted)",
    ]);
    const early = "let name; try { crypto.randomUUID(); } catch (error) { name = error.name; }";
    expect((await toolOf("return name", early).call({ capabilities: { random: true } })).output).toBe(
      "NotAllowedError",
    );
    const tooMany = await run(CATCH("crypto.getRandomValues(new Uint8Array(65_537))"), {
      capabilities: { random: true },
    });
    expect((tooMany.output as string[])[0]).toBe("QuotaExceededError");
  });

  test("digests need no grant", async () => {
    const { output } = await run(
      `const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc"));
      return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");`,
    );
    expect(output).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe("bytes of the host", () => {
  test("a buffer that a guest receives has only the bytes of its own", async () => {
    const { output } = await run(
      `const own = [
        new TextEncoder().encode("abc").buffer,
        crypto.getRandomValues(new Uint8Array(3)).buffer,
        await crypto.subtle.digest("SHA-1", new Uint8Array(1)),
        await (await new Response("abc").blob()).arrayBuffer(),
      ];
      return own.map(({ byteLength }) => byteLength);`,
      { capabilities: { random: true } },
    );
    expect(output).toEqual([3, 3, 20, 3]);
  });

  test.each([
    ["a URL", `new URL("http://a/" + "b".repeat(70_000))`],
    ["what to compress", `await compress(new Uint8Array(3 << 20))`],
    ["what is decompressed", `await decompress(await compress(await compress(new Uint8Array(2 << 20), 9)))`],
    ["what to decompress", `await through(new Uint8Array(3 << 20), new DecompressionStream("gzip"))`],
    ["what to digest", `await crypto.subtle.digest("SHA-1", new Uint8Array(9 << 20))`],
    ["a number to format", `(10n ** 1_001n).toLocaleString()`],
    ["the exponent of a number to format", `new Intl.NumberFormat().format("1e-999999999")`],
    ["a text to compare", `"a".repeat(70_000).localeCompare("b")`],
    ["a run of combining marks to compare", `"\u0f73".repeat(1_001).localeCompare("b")`],
    ["an option of a formatter", `new Intl.NumberFormat("en", { currency: "x".repeat(2_000) })`],
  ])("%s has a maximum size", async (_case, code) => {
    const { output } = await run(
      `const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).bytes();
      const compress = (bytes, times = 1) => through(bytes, new CompressionStream("gzip"));
      const decompress = async () => {
        let bytes = await compress(new Uint8Array(2 << 20));
        // Five members of 2 MiB each.
        const all = new Uint8Array(bytes.length * 5);
        for (let i = 0; i < 5; i++) all.set(bytes, i * bytes.length);
        return through(all, new DecompressionStream("gzip"));
      };
      ${CATCH(code)}`,
    );
    expect((output as string[])[0]).toBe("RangeError");
  });
});

describe("events and signals", () => {
  test("events reach listeners once, in order, and until they are stopped", async () => {
    const { output } = await run(`
      const target = new EventTarget();
      const seen = [];
      const own = (event) => { seen.push(event.detail, event.target === target); event.preventDefault(); };
      target.addEventListener("a", own);
      target.addEventListener("a", own);
      target.addEventListener("a", { handleEvent() { seen.push("object"); } }, { once: true });
      const controller = new AbortController();
      target.addEventListener("a", () => seen.push("removed"), { signal: controller.signal });
      controller.abort();
      const goes = target.dispatchEvent(new CustomEvent("a", { detail: 1, cancelable: true }));
      target.dispatchEvent(new CustomEvent("a", { detail: 2 }));
      return [seen, goes];`);
    expect(output).toEqual([[1, true, "object", 2, true], false]);
  });

  test("signals abort with their reason, also those that depend on others", async () => {
    const { output } = await run(`
      const controller = new AbortController();
      const any = AbortSignal.any([signal, controller.signal, AbortSignal.timeout(1e6)]);
      const before = any.aborted;
      controller.abort("why");
      const late = await new Promise((done) => { AbortSignal.timeout(1).onabort = ({ target }) => done(target.reason); });
      const { name } = AbortSignal.abort().reason;
      return [before, any.reason, late.name, late instanceof DOMException, late.code, name, signal.aborted];`);
    expect(output).toEqual([false, "why", "TimeoutError", true, 23, "AbortError", false]);
  });
});

describe("bodies and streams", () => {
  test("requests and responses convert bodies, each once", async () => {
    const { output } = await run(`
      const form = new FormData();
      form.append("a", "1");
      form.append("file", new File(["x\\ny"], "n.txt", { type: "text/plain" }));
      const request = new Request("http://a.test/../b", { method: "post", body: form });
      const params = new Response(new URLSearchParams({ a: "b c" }));
      const twice = new Response("once");
      await twice.text();
      return [
        request.url, request.method, /^multipart.form-data; boundary=/.test(request.headers.get("content-type")),
        (await request.text()).includes('name="file"; filename="n.txt"\\r\\ncontent-type: text/plain\\r\\n\\r\\nx\\ny\\r\\n'),
        [...await params.formData()], twice.bodyUsed, await twice.text().catch(({ name }) => name),
        await Response.json({ a: 1 }).json(), new Response(null, { status: 204 }).body,
      ];`);
    expect(output).toEqual([
      "http://a.test/b",
      "POST",
      true,
      true,
      [["a", "b c"]],
      true,
      "TypeError",
      { a: 1 },
      null,
    ]);
  });

  test("a request that is made from another one takes over its body, and a clone copies it", async () => {
    const requestAll = async (): Promise<unknown> => {
      const first = new Request("http://a.test", { method: "POST", body: "text" });
      const copy = first.clone();
      const second = new Request(first, { headers: { a: "b" } });
      const third = new Request(copy);
      const used = [first.bodyUsed, copy.bodyUsed, second.bodyUsed];
      const types = [copy, second, third].map(({ headers }) => headers.get("content-type"));
      const again = await Promise.resolve()
        .then(() => new Request(first))
        .catch(({ name }) => name);
      return [used, types, again, await second.text(), await third.text(), second.method];
    };
    const { output } = await run(`return (${requestAll})();`);
    expect(output).toEqual(await requestAll());
  });

  test("streams pipe text and bytes through transformations", async () => {
    const { output } = await run(`
      const text = new ReadableStream({ start(c) { c.enqueue("gr\\u00fc"); c.enqueue("\\ud83e"); c.enqueue("\\udd8a"); c.close(); } });
      const compressed = text.pipeThrough(new TextEncoderStream()).pipeThrough(new CompressionStream("deflate-raw"));
      const back = compressed.pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream());
      let all = "";
      await back.pipeTo(new WritableStream({ write(chunk) { all += chunk; } }));
      return all;`);
    expect(output).toBe("grü🦊");
  });
});

describe("globals", () => {
  test("code that a tool evaluates from text has every global", async () => {
    const tool = toolOf("return (0, eval)(input.code)");
    const { output } = await tool.call({
      input: { code: "new URL('http://a/b').pathname + (1e6).toLocaleString()" },
    });
    expect(output).toBe("/b1,000,000");
  });

  test("what a tool does to the intrinsics changes its web APIs at most, and no other call", async () => {
    const tool = toolOf(
      `if (input.spoil) { Array.prototype.push = Reflect.apply = () => { throw new Error("spoilt"); }; JSON.parse = () => 1; }
      return new URL("http://a/b?c=d").searchParams.get("c");`,
    );
    expect((await tool.call({ input: { spoil: true } })).output).toBe("d");
    expect((await tool.call()).output).toBe("d");
  });

  test("structuredClone transfers buffers, and refuses what has no copy", async () => {
    const { output } = await run(`
      const { buffer } = new Uint8Array([1, 2]);
      const moved = structuredClone({ buffer }, { transfer: [buffer] }).buffer;
      const loop = []; loop.push(loop);
      const again = structuredClone(loop);
      const names = [() => {}, Symbol(), new WeakMap(), Promise.resolve()].map((value) => {
        try { structuredClone({ value }); } catch ({ name }) { return name; }
      });
      return [buffer.detached, new Uint8Array(moved).join(), again[0] === again, new Set(names).size, names[0]];`);
    expect(output).toEqual([true, "1,2", true, 1, "DataCloneError"]);
  });
});

test("long texts are encoded and decoded in pieces as in one", async () => {
  const convertAll = (): unknown[] => {
    const text = `${"x".repeat(65_535)}\u{1f600}${"é".repeat(70_000)}\ud800`;
    const bytes = new TextEncoder().encode(text);
    const latin = "\u00ff".repeat(200_000);
    const base64 = btoa(latin);
    const spaced = base64.replaceAll(/.{76}/g, "$&\r\n");
    const names = [`${base64}=`, `${base64.slice(0, 70_000)}=${base64}`, `${base64}*`].map((each) => {
      try {
        return atob(each).length;
      } catch (error) {
        return (error as Error).name;
      }
    });
    const query = `${"a=%41&".repeat(70_000)}b=${"%c3%a9%zz%ff+".repeat(10_000)}&%=%4`;
    const params = new URLSearchParams(query);
    return [
      bytes.length,
      new TextDecoder().decode(bytes) === text.toWellFormed(),
      atob(base64) === latin,
      atob(spaced) === latin,
      names,
      params.size,
      params.get("a"),
      params.get("b")?.length,
      params.get("b")?.slice(0, 40),
      params.get("%"),
    ];
  };
  const { output } = await run(`return (${convertAll})();`, { limits: { wallTimeMs: 60_000 } });
  expect(output).toEqual(convertAll());
});

test("names, numbers and dates are compared and formatted as Node.js does", async () => {
  const formatAll = (): unknown[] => [
    ["Zoë", "Ångström", "a\u0301".repeat(500), "z"].sort((one, other) => one.localeCompare(other, "sv")),
    (1234.5).toLocaleString("de"),
    (10n ** 900n).toLocaleString("en").length,
    new Intl.NumberFormat("en", { notation: "compact" }).format(1e-300),
    new Intl.NumberFormat("en").format(" 1e3 " as unknown as number),
    new Intl.DateTimeFormat("ja", { timeZone: "UTC", dateStyle: "long" }).formatToParts(0),
    new Intl.DateTimeFormat("my", { timeZone: "UTC", calendar: "buddhist" }).format(0),
  ];
  const { output } = await run(`return (${formatAll})();`);
  expect(output).toEqual(formatAll());
});

test.each([
  ["formatToParts", "my", "buddhist"],
  ["formatToParts", "gd", "gregory"],
  ["formatToParts", "en-u-ca-hebrew", undefined],
  ["formatRangeToParts", "ksh", undefined],
])("%s of a date in %s is refused: it could end the process", async (method, locale, calendar) => {
  const { output } = await run(
    `try { new Intl.DateTimeFormat(input.locale, { calendar: input.calendar })[input.method](0, 1); }
    catch ({ name, message }) { return name + " " + message; }`,
    { input: { locale, method, ...(calendar !== undefined && { calendar }) } },
  );
  expect(output).toMatch(/^RangeError formatToParts .* use format, or en and gregory$/);
});

test("a long text is decoded in pieces that begin with whole characters", async () => {
  const decodeAll = (): unknown[] =>
    [0, 1, 2, 3].flatMap((shift) => {
      const bytes = new Uint8Array(2 ** 16 + 16);
      bytes.set([0xef, 0xbb, 0xbf, 0xf0, 0x9f, 0x98, 0x80, 0x3d, 0xd8, 0, 0xde], 2 ** 16 - shift - 3);
      return ["utf-8", "utf-16le"].map((label) => {
        const text = new TextDecoder(label).decode(bytes);
        return [text.length, text.slice(-32).replaceAll("\0", ".").toWellFormed()];
      });
    });
  const { output } = await run(`return (${decodeAll})();`, { limits: { wallTimeMs: 30_000 } });
  expect(output).toEqual(decodeAll());
});
