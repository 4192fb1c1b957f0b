/**
 * The part of the driver that creates `fetch`: a subset of the standard's, with bodies that are text. It receives the
 * driver's functions that send requests to the host and create errors.
 */
export const FETCH_SOURCE: string = `(ask, failure) => {
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { entries, freeze } = Object;
  const { isArray } = Array;
  const { toLowerCase } = String.prototype;
  const PromiseOf = Promise;
  const text = String;

  const responseOf = ({ status, url, headers: fields, body }) => {
    const get = (name) => {
      const wanted = apply(toLowerCase, text(name), []);
      let found = null;
      for (let i = 0; i < fields.length; i++) {
        if (fields[i][0] === wanted) found = (found === null ? "" : found + ", ") + fields[i][1];
      }
      return found;
    };
    const headers = freeze({
      get,
      has: (name) => get(name) !== null,
      forEach: (visit) => { for (let i = 0; i < fields.length; i++) visit(fields[i][1], fields[i][0], headers); },
      entries: () => {
        const pairs = [];
        for (let i = 0; i < fields.length; i++) pairs[i] = [fields[i][0], fields[i][1]];
        return pairs;
      },
    });
    const readText = async () => {
      if (body === null) {
        throw failure("FetchError", { code: "body_not_text", message: "the response's body is not UTF-8 text: ask the server for text, such as JSON" });
      }
      return body;
    };
    return freeze({ ok: status >= 200 && status < 300, status, url, headers, text: readText, json: async () => parse(await readText()) });
  };
  return (url, init) => new PromiseOf((resolve, reject) => {
    const { method = "GET", headers = {}, body = null, redirect = "manual", signal, ...others } = init ?? {};
    for (const name in others) {
      throw new TypeError("fetch does not support the option '" + name + "': it takes method, headers, body and redirect");
    }
    if (typeof method !== "string") throw new TypeError("fetch: method must be a string");
    if (body !== null && typeof body !== "string") {
      throw new TypeError("fetch: body must be a string; use JSON.stringify for an object");
    }
    if (redirect !== "manual" && redirect !== "follow") {
      throw new TypeError("fetch: redirect must be 'manual' or 'follow'");
    }
    const given = isArray(headers) ? headers : entries(headers);
    let pairs = "";
    for (let i = 0; i < given.length; i++) {
      pairs += (i === 0 ? "[" : ",[") + stringify(text(given[i][0])) + "," + stringify(text(given[i][1])) + "]";
    }
    const take = (reply) => resolve(responseOf(reply));
    const target = stringify(method) + "," + stringify(text(url));
    const content = (body === null ? "null" : stringify(body)) + "," + (redirect === "follow");
    ask("f", target + ",[" + pairs + "]," + content, take, reject, "FetchError");
  });
}`;
