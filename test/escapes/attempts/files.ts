import { type Attempt, attempts } from "../attempt.ts";

/** Ways to a file outside the grant that begin in the sandbox. */
const READ = attempts("read a file outside", {
  "its path": "cat $OUTSIDE/secret",
  "a relative path": "cat ../outside/secret",
  "a path with superfluous parts": "cat ./../work/../outside//secret",
  "the directory above, as the working directory": "cd .. && cat outside/secret",
  "the package.json above": { before: "echo OUT > ../package.json", script: "cat ../package.json" },
  "a link to it as the package.json above": {
    before: "ln -s $OUTSIDE/secret ../package.json",
    script: "cat ../package.json",
  },
  "/proc/self/root": "cat /proc/self/root$OUTSIDE/secret",
  "/proc/1/root": "cat /proc/1/root$OUTSIDE/secret",
  "/proc/PID/root of every process": "cat /proc/[0-9]*/root$OUTSIDE/secret",
  "/proc/self/cwd": "cat /proc/self/cwd/../outside/secret",
  "/proc/PID/cwd of every process": "cat /proc/[0-9]*/cwd/../outside/secret /proc/[0-9]*/cwd/secret",
  "/proc/PID/fd of every process": {
    script: "cat /proc/[0-9]*/fd/*/../outside/secret /proc/[0-9]*/fd/*/secret",
    control: { script: "exec 9<$OUTSIDE; cat /proc/[0-9]*/fd/*/secret" },
  },
  "/proc/PID/fd of the victim": "cat /proc/$VICTIM/cwd/secret",
  "an inherited descriptor": {
    script:
      "for n in 3 4 5 6 7 8 9 10 11 12; do cat /proc/self/fd/$n/outside/secret /dev/fd/$n/../outside/secret; done",
    control: { script: "exec 7<..; cat /proc/self/fd/7/outside/secret" },
  },
  "/proc/PID/map_files": {
    script: "cat /proc/$VICTIM/map_files/* | grep -qa coreutils && echo OUT",
  },
  "the roots that bubblewrap pivots from": {
    script: "cat /oldroot$OUTSIDE/secret /newroot/../oldroot$OUTSIDE/secret",
    control: { script: "cat $OUTSIDE/secret" },
  },
  "above the root": "cat /../../..$OUTSIDE/secret",
  "a link that was there": { before: "ln -s ../outside/secret link", script: "cat link" },
  "an absolute link that was there": { before: "ln -s $OUTSIDE/secret link", script: "cat link" },
  "a link to a directory that was there": { before: "ln -s $OUTSIDE link", script: "cat link/secret" },
  "a link to /proc/self/root that was there": {
    before: "ln -s /proc/self/root link",
    script: "cat link$OUTSIDE/secret",
  },
  "a new link": { script: "ln -s ../outside l && cat l/secret", write: true },
  "a new absolute link": { script: "ln -s $OUTSIDE/secret l && cat l", write: true },
  "a link that replaces a directory that is read": {
    write: true,
    script:
      "mkdir d; for n in 1 2 3 4 5 6 7 8 9; do rmdir d; ln -sfn $OUTSIDE d; cat d/secret; rm d; mkdir d; done",
  },
  "a directory moved above itself": {
    write: true,
    script: "mkdir -p a/b/c; cd a/b/c; mv ../../b ../../../b; cat ../../../outside/secret",
    control: {
      script:
        "mkdir -p a/b/c; cd a/b/c; mv ../../b ../../../b; cat ../../../outside/secret ../../outside/secret",
    },
  },
  "a hard link": { script: "ln $OUTSIDE/secret hard && cat hard", write: true },
  "a hard link through /proc/self/root": {
    script: "ln /proc/self/root$OUTSIDE/secret hard && cat hard",
    write: true,
  },
  "a shebang": {
    write: true,
    script: "printf '#!/bin/cat %s\\n' $OUTSIDE/secret > s; chmod +x s; ./s",
  },
  "a program outside": "$OUTSIDE/script",
  "a program that is only in memory": {
    script: "$TOOLS/reach memfd $OUTSIDE/script",
    control: { script: "$OUTSIDE/script" },
  },
  "the dynamic loader": {
    script:
      "/lib64/ld-linux-x86-64.so.2 /bin/cat $OUTSIDE/secret || /lib/ld-linux-aarch64.so.1 /bin/cat $OUTSIDE/secret",
  },
  "a file handle": "$TOOLS/calls open_by_handle_at",
  "a file handle of the system's directory": "$TOOLS/calls open_by_handle_at /usr",
  "the name of a file handle": "$TOOLS/calls name_to_handle_at",
  "the users of the machine": { script: "grep -q '^root:' /etc/shadow && echo OUT" },
  "the home directory of root": { script: "ls -a /root | grep -q . && echo OUT" },
  "other directories of the system": { script: "ls -A /var/lib | grep -q . && echo OUT" },
  "sockets and state in /run": {
    script: "ls -A /run /var/run | grep -v : | grep -q . && echo OUT",
    control: { script: "mkdir -p run/lock; ls -A run | grep -v : | grep -q . && echo OUT" },
  },
});

const WRITE = attempts("change a file outside", {
  "its path": "echo x >> $OUTSIDE/secret",
  "a relative path": "echo x >> ../outside/secret",
  "a new file": "echo x > $OUTSIDE/new",
  "a new file above": { script: "echo x > ../outside/new", write: true },
  "/proc/self/root": "echo x >> /proc/self/root$OUTSIDE/secret",
  "/proc/PID/cwd of the victim": "echo x > /proc/$VICTIM/cwd/new",
  "a link that was there": { before: "ln -s $OUTSIDE/secret link", script: "echo x >> link", write: true },
  "a link to a new file": { script: "ln -s $OUTSIDE/new link; echo x > link", write: true },
  "a hard link": { script: "ln $OUTSIDE/secret hard; echo x >> hard", write: true },
  removing: "rm -f $OUTSIDE/secret",
  "removing with a relative path": "rm -rf ../outside",
  "moving out": { script: "mv file $OUTSIDE/file", write: true },
  "moving in": { script: "mv $OUTSIDE/secret .", write: true },
  mode: "chmod 777 $OUTSIDE/secret",
  times: "touch -d 2001-01-01 $OUTSIDE/secret",
  truncating: "truncate -s 0 $OUTSIDE/secret",
  "a new directory": "mkdir $OUTSIDE/new",
  "a new link in it": "ln -s x $OUTSIDE/new",
  "an archive with .. in its names": {
    write: true,
    before: "tar cPf t.tar ../outside/script",
    script: "tar xPf t.tar -m --touch; tar xPf t.tar --to-command=true; tar xPf t.tar",
  },
  "an archive with a link": {
    write: true,
    script:
      "ln -s $OUTSIDE l; tar cf a.tar l; rm l; mkdir l; echo x > l/new; tar rf a.tar l/new; rm -r l; tar xPf a.tar; ls l; cp a.tar l/new",
  },
});

const GRANT = { control: { fs: (work: string) => [{ directory: work, at: "/workspace", write: true }] } };

const READ_ONLY = attempts("change what is granted for reading", {
  writing: { script: "echo x >> file && echo OUT", ...GRANT },
  "a new file": { script: "echo x > new && echo OUT", ...GRANT },
  removing: { script: "rm -f file && echo OUT", ...GRANT },
  renaming: { script: "mv file other && echo OUT", ...GRANT },
  mode: { script: "chmod 777 file && echo OUT", ...GRANT },
  times: { script: "touch -d 2001-01-01 file && echo OUT", ...GRANT },
  "a hard link": { script: "ln file other && echo OUT", ...GRANT },
  "a link": { script: "ln -s file other && echo OUT", ...GRANT },
  "a directory": { script: "mkdir other && echo OUT", ...GRANT },
  "a pipe": { script: "mkfifo other && echo OUT", ...GRANT },
  "a descriptor that is opened again": {
    script: "exec 9<file; echo x >> /proc/self/fd/9 && echo OUT",
    ...GRANT,
  },
  "another place of the same directory": {
    script: "echo x >> /proc/self/cwd/file && echo OUT",
    ...GRANT,
  },
  "a mount that becomes writable": "$TOOLS/namespaces mount_writable .",
  "the compiled programs": {
    script: "echo x > $TOOLS/new && echo OUT",
    control: { script: "echo x > ./new && echo OUT" },
  },
});

const SYSTEM = attempts("change the system", {
  ...Object.fromEntries(
    ["/usr", "/usr/bin", "/etc", "/", "/dev", "/lib", "/bin"].map((place) => [
      `a new file in ${place}`,
      { script: `f=${place}/sandgate-$NUMBER; echo x > $f && rm $f && echo OUT` },
    ]),
  ),
  "/etc/passwd": { script: ": >> /etc/passwd && echo OUT" },
  "the program sh": {
    script: "cp /bin/sh s; cat s > /usr/bin/dash && echo OUT",
    control: { script: "cp /bin/sh a; cp /bin/sh b; cat a > b && echo OUT" },
  },
  "the mode of a program": { script: "chmod 755 /usr/bin/env && echo OUT" },
  "the mount of /usr": "$TOOLS/namespaces mount_writable /usr",
  "the mount of /etc/passwd": {
    script: "$TOOLS/namespaces mount_writable /etc/passwd",
    control: { script: "$TOOLS/namespaces mount_writable /" },
  },
});

const NODE = { control: { script: "cat node | head -c 1 | wc -c | grep -q 1 && echo OUT" } };

const DEVICES = attempts("use a device", {
  "a new character device": { script: "mknod node c 1 5 && echo OUT", write: true },
  "a new block device": { script: "mknod node b 259 0 && echo OUT", write: true },
  "a new device in /tmp": { script: "mknod /tmp/$NUMBER c 1 5 && rm /tmp/$NUMBER && echo OUT" },
  "a device in a granted directory": {
    before: "mknod node c 1 5",
    script: "head -c 1 node | wc -c | grep -q 1 && echo OUT",
    ...NODE,
  },
  "the memory of the machine": {
    script: "test -e /dev/mem && echo OUT",
    control: { script: "test -e /dev/null && echo OUT" },
  },
  "the disks": { script: "ls /dev | grep -qE '^(sd|vd|nvme|loop|dm-|ram)' && echo OUT" },
  "the kernel's log": { script: "head -c 1 /dev/kmsg | grep -q . && echo OUT" },
  "virtual machines, networks and user file systems": {
    script: "ls /dev /dev/net | grep -qE '^(kvm|tun|fuse|vsock|vhost-net|vhost-vsock)$' && echo OUT",
  },
  "the console": { script: "test -w /dev/tty0 -o -w /dev/ttyS0 && echo OUT" },
  "terminals of others": { script: "ls /dev/pts | grep -q '[0-9]' && echo OUT" },
});

const SETUID = (name: string): [string, Omit<Attempt, "group" | "name">] => [
  `${name} gives a file the privileges of its owner`,
  {
    write: true,
    script: `$TOOLS/reach setuid_${name} file new >/dev/null; test -u file -o -g file -o -u new && echo OUT`,
  },
];

const PRIVILEGES = attempts("gain privileges", {
  ...Object.fromEntries(
    ["chmod", "fchmod", "fchmodat", "fchmodat2", "open", "creat", "openat2", "mknod"].map(SETUID),
  ),
  "a file with the privileges of its owner": {
    before: "cp /usr/bin/id id; chown 0:0 id; chmod 4755 id",
    script: "test $(id -u) = 0 -o $(./id -u) = 0 && echo OUT",
  },
  "becoming root": { script: "perl -e '$> = 0; $< = 0; print \"OUT\\n\" if $> == 0'" },
  "a capability": { script: "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo OUT" },
  "a capability that can be inherited": {
    script: "grep -q 'CapBnd:.*[1-9a-f]' /proc/self/status && echo OUT",
  },
  "the owner of a file": { script: "chown 1:1 file && echo OUT", write: true },
});

export const FILES: readonly Attempt[] = [
  ...READ,
  ...WRITE,
  ...READ_ONLY,
  ...SYSTEM,
  ...DEVICES,
  ...PRIVILEGES,
];
