import type { NetGrant } from "../../../src/policy/grant/net-grant.ts";
import { type Attempt, type Attempts, attempts } from "../attempt.ts";

/** What every attempt is granted: a public origin, and every origin but those of this machine. */
const NET: readonly NetGrant[] = ["https://example.com", "http://*:*", "https://*:*"];

/** Prints what comes after sending `$2` to port `$1` of the loopback interface. */
const SEND = `send() { perl -MIO::Socket::INET -e '
  my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0], Timeout => 5) or die "$!\\n";
  my $t = $ARGV[1]; $t =~ s/\\\\r/\\r/g; $t =~ s/\\\\n/\\n/g; print $s $t; shutdown $s, 1; local $/; print <$s>;' "$1" "$2"; }; `;

/** The same without the proxy, where the server of the scene is the one to reach. */
const DIRECT = { script: "exec 3<>/dev/tcp/127.0.0.1/$PORT; echo x >&3" };
const direct = { script: `bash -c '${DIRECT.script.replaceAll("'", "'\\''")}'`.replace("$PORT", "'$PORT'") };

const withNet = (list: Readonly<Record<string, string | Partial<Attempt>>>): Attempts =>
  Object.fromEntries(
    Object.entries(list).map(([name, given]) => {
      const attempt = typeof given === "string" ? { script: given } : given;
      return [name, { net: NET, control: direct, ...attempt, script: SEND + (attempt.script ?? "") }];
    }),
  );

const plain = (authority: string, ...headers: string[]): string =>
  `send 3128 'GET http://${authority}/ HTTP/1.1\\r\\n${[`Host: ${authority}`, ...headers].join("\\r\\n")}\\r\\n\\r\\n'`;

const tunnel = (authority: string): string =>
  `send 3128 'CONNECT ${authority} HTTP/1.1\\r\\nHost: ${authority}\\r\\n\\r\\nhello'`;

/** Ways to write 127.0.0.1. */
const LOCAL = [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0",
  "localhost",
  "[::1]",
  "[::ffff:127.0.0.1]",
];

/** Programs that have a network try to reach servers that they may not reach. */
export const NETWORK: readonly Attempt[] = attempts(
  "the network, with a grant",
  withNet({
    ...Object.fromEntries(LOCAL.map((host) => [`${host} through the proxy`, plain(`${host}:'$PORT'`)])),
    ...Object.fromEntries(LOCAL.map((host) => [`a tunnel to ${host}`, tunnel(`${host}:'$PORT'`)])),
    "this machine without the proxy": "send $PORT hello",
    "this machine with bash": { script: "bash -c 'echo x > /dev/tcp/127.0.0.1/'$PORT" },
    "another host in the header": `send 3128 'GET http://127.0.0.1:'$PORT'/ HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n'`,
    "a path, and this machine in the header": `send 3128 'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:'$PORT'\\r\\n\\r\\n'`,
    "credentials before the host": `send 3128 'GET http://example.com@127.0.0.1:'$PORT'/ HTTP/1.1\\r\\nHost: 127.0.0.1:'$PORT'\\r\\n\\r\\n'`,
    "a body that is another request": `send 3128 'POST http://127.0.0.1:'$PORT'/ HTTP/1.1\\r\\nHost: 127.0.0.1:'$PORT'\\r\\nTransfer-Encoding: chunked\\r\\nContent-Length: 4\\r\\n\\r\\n0\\r\\n\\r\\n'`,
    "an upgrade": plain("127.0.0.1:'$PORT'", "Connection: Upgrade", "Upgrade: websocket"),
    "HTTP/2 with prior knowledge": `send 3128 'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'`,
    "a raw socket": { script: "$TOOLS/reach socket 2 3 1", control: { script: "$TOOLS/reach socket 2 3 1" } },
    netlink: { script: "$TOOLS/reach socket 16 3 0", control: { script: "$TOOLS/reach socket 16 3 0" } },
    packets: { script: "$TOOLS/reach socket 17 3 768", control: { script: "$TOOLS/reach socket 17 3 768" } },
    vsock: { script: "$TOOLS/reach socket 40 1 0", control: { script: "$TOOLS/reach socket 40 1 0" } },
    "an abstract unix socket": {
      script: "$TOOLS/reach connect_unix @sandgate-$NUMBER",
      control: { script: "$TOOLS/reach connect_unix @sandgate-$NUMBER" },
    },
    "a descriptor that the preparation left": {
      script:
        "ls -l /proc/self/fd /proc/1/fd /proc/2/fd | grep -E 'socket:|/node' | grep -qvE ' [012] -> ' && echo OUT",
      control: { script: "exec 9<.; ls -l /proc/self/fd | grep -q ' 9 -> ' && echo OUT" },
    },
    "the program of the preparation": {
      script: "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q '[c]reateServer' && echo OUT",
      control: {
        script:
          ": createServer; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q '[c]reateServer' && echo OUT",
      },
    },
    "another interface": {
      script: "tail -n +3 /proc/net/dev | grep -qv '^ *lo:' && echo OUT",
      control: { script: "cat /proc/net/dev | grep -qv '^ *lo:' && echo OUT" },
    },
  }),
);
