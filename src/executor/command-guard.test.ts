import { describe, expect, test } from "bun:test";
import { findRefusalReason } from "./command-guard.ts";

const directories = { cwd: "/home/u/project", home: "/home/u" };

const refused: [string, string][] = [
  ["rm -rf /", "everything on this machine"],
  ["rm -fr /", "everything"],
  ["rm -r -f /", "everything"],
  ["rm -f --recursive /", "everything"],
  ["rm -Rf //", "everything"],
  ["rm -rf /*", "everything"],
  ["rm -rf /.", "everything"],
  ["rm -rf /.*", "everything"],
  ['rm -rf "/"', "everything"],
  ["rm -rf -- /", "everything"],
  ["rm -rf /home/../", "everything"],
  ["rm -rf --no-preserve-root /tmp/x", "--no-preserve-root"],
  ["rm -rf ~", "home directory"],
  ["rm -rf ~/", "home directory"],
  ["rm -rf ~/*", "home directory"],
  ["rm -rf $HOME", "home directory"],
  ['rm -rf "$HOME"', "home directory"],
  ['rm -rf "${HOME}"/*', "home directory"],
  ["rm -rf ${HOME:?}/*", "home directory"],
  ["rm -rf /home/u", "home directory"],
  ["rm -rf ../", "home directory"],
  ["rm -rf build / tmp", "everything"],
  ["rm -rf /etc", "the system needs"],
  ["rm -rf /usr/*", "the system needs"],
  ["sudo rm -rf /", "everything"],
  ["sudo -u root -n rm -rf /", "everything"],
  ["env -i FOO=1 rm -rf /", "everything"],
  ["FOO=1 rm -rf /", "everything"],
  ["command rm -rf /", "everything"],
  ["\\rm -rf /", "everything"],
  ["/bin/rm -rf /", "everything"],
  ["timeout -k 5 10 nice -n 5 rm -rf /", "everything"],
  ["nohup rm -rf / &", "everything"],
  ["make && rm -rf /", "everything"],
  ["make; rm -rf /", "everything"],
  ["true | rm -rf /", "everything"],
  ["make\nrm -rf /\n", "everything"],
  ["if true; then rm -rf /; fi", "everything"],
  ["(cd build && rm -rf /)", "everything"],
  ["{ rm -rf /; }", "everything"],
  ["echo $(rm -rf /)", "everything"],
  ['echo "now: $(rm -rf /)"', "everything"],
  ["echo `rm -rf /`", "everything"],
  ["cd / && rm -rf *", "everything"],
  ["cd ~; rm -rf ./*", "home directory"],
  ["cd; rm -rf .", "home directory"],
  ["bash -c 'rm -rf /'", "everything"],
  ['sh -c "rm -rf /*"', "everything"],
  ["sudo bash -lc 'cd /tmp; rm -rf ~'", "home directory"],
  [`bash -c "bash -c 'rm -rf /'"`, "everything"],
  ["eval 'rm -rf /'", "everything"],
  ["bash <<EOF\nrm -rf /\nEOF", "everything"],
  ["bash <<< 'rm -rf /'", "everything"],
  ["find / -delete", "everything"],
  ["find ~ -xdev -delete", "home directory"],
  ["mkfs /dev/sda1", "new file system on /dev/sda1"],
  ["mkfs.ext4 -F /dev/nvme0n1p2", "new file system on /dev/nvme0n1p2"],
  ["sudo mkfs -t xfs /dev/mapper/root", "new file system"],
  ["dd if=/dev/zero of=/dev/sda bs=1M", "dd overwrites the device /dev/sda"],
  ["dd of=/dev/disk2 if=x.img", "dd overwrites"],
  ["cat x > /dev/sda", "overwrites the device /dev/sda"],
  ["echo x >>/dev/vda1", "overwrites the device"],
  ["> /dev/nvme0n1", "overwrites the device"],
  ["cat x | sudo tee /dev/sdb", "tee overwrites"],
  ["cp x.img /dev/mmcblk0", "cp overwrites"],
  ["shred -n 3 /dev/sda", "shred overwrites"],
  ["wipefs -a /dev/sdb", "wipefs erases"],
  ["blkdiscard /dev/nvme0n1", "blkdiscard empties"],
  [":(){ :|:& };:", "fork bomb"],
  [":() { : | : & } ; :", "fork bomb"],
  ["bomb() { bomb | bomb & }; bomb", "fork bomb"],
  ["bomb()\n{\n  bomb &\n  bomb &\n}\nbomb\n", "fork bomb"],
  ["function f { f|f& }; f", "fork bomb"],
  ["bash -c ':(){ :|:& };:'", "fork bomb"],
  ["chmod -R 777 /", "modes of everything"],
  ["chmod -R 000 /*", "modes of everything"],
  ["sudo chown -R u:u /", "owner of everything"],
  ["chown --recursive u /usr", "owner of a directory the system needs"],
];

const allowed = [
  "rm -rf ./build",
  "rm -rf build dist node_modules",
  "rm -rf *",
  "rm -rf .",
  'rm -rf "$TMPDIR/x"',
  'rm -rf "$DIR"/*',
  "rm -rf $UNSET/",
  "rm -rf /tmp/x",
  "rm -rf /tmp/*",
  "rm -rf /var/lib/apt/lists/*",
  "rm -rf ~/.cache/thing",
  "rm -rf $HOME/project/dist",
  "rm -rf '~'",
  "rm -rf '$HOME'",
  "rm -rf '/*'",
  "rm -rf ../other",
  "rm /",
  "rm -f ~/file",
  "rm -rf -- -r",
  "export HOME=$(mktemp -d); make test; rm -rf $HOME",
  "cd /tmp/x && rm -rf *",
  'cd "$DIR" && rm -rf *',
  'echo "rm -rf /"',
  "echo 'rm -rf /' >> notes.md",
  "echo rm -rf /",
  'git commit -m "never run rm -rf / again"',
  "git commit -m 'do not $(rm -rf /)'",
  "git commit -m \"$(cat <<'EOF'\nWe do not rm -rf / here\nEOF\n)\"",
  "grep -rn 'rm -rf /' src",
  'grep -E "mkfs|dd of=/dev/sda" -r .',
  "rg ':(){ :|:& };:' docs",
  "cat > clean.sh <<'EOF'\nrm -rf /\nmkfs /dev/sda\n:(){ :|:& };:\nEOF",
  "cat <<-END | wc -l\n\trm -rf /\n\tEND\necho fine",
  "ls # rm -rf /",
  "python3 - <<'E'\nprint('rm -rf /')\nE",
  "command -v rm; which mkfs",
  "man rm; rm --help",
  "dd if=/dev/zero of=disk.img bs=1M count=10",
  "dd if=/dev/urandom of=/dev/null count=1",
  "mkfs.ext4 disk.img",
  "make > /dev/null 2>&1",
  "echo x > /dev/stderr; echo y >/dev/tty",
  "echo x > /dev/shm/x",
  "ls -l /dev/sda; cat /dev/sda1 | head -c 10",
  "dd if=/dev/sda of=boot.img count=1",
  "wipefs /dev/sda",
  "shred -u secret.txt",
  "find . -name '*.o' -delete",
  "find / -name core -delete",
  "find / -type f -name '*.pyc'",
  "chmod -R 755 .",
  "chmod 755 /",
  "chown -R u:u ~/project",
  "chown -R u ~",
  "build() { make | tee log; }; build",
  'walk() { walk "$1/a" & walk "$1/b" & }; walk x',
  "f() { echo f; }; f | f",
  'for f in a b; do rm -rf "$f"; done',
  "docker run --rm alpine true",
  "echo $((1 << 3)); rm -rf build",
  'x=${y#*/}; rm -rf "build/$x"',
  "npm run rm -- /",
  "'",
  'echo "unclosed',
  "echo $(",
  "cat <<EOF",
];

describe("destructive commands", () => {
  test.each(refused)("the guard refuses %j", (command, reason) => {
    const text = findRefusalReason(command, directories);
    expect(text).toContain(reason);
    expect(text).toStartWith("refused: ");
    expect(text).toContain("the user can run it outside of skein");
  });
});

describe("other commands", () => {
  test.each(allowed)("the guard allows %j", (command) => {
    expect(findRefusalReason(command, directories)).toBeNull();
  });
});

test("a relative path is resolved in the directory of the command", () => {
  expect(findRefusalReason("rm -rf *", { cwd: "/", home: "/root" })).toContain("everything");
  expect(findRefusalReason("rm -rf .", { cwd: "/root", home: "/root" })).toContain("home directory");
});

test("a long and deeply nested command is checked without a long search", () => {
  const pieces = ["rm -rf x; ", "$(", '"$(', "`", "f(){", "f(){ f|", "<<E\n", "a() ", "x", "function ", " ", ":", "(", "{", "\\"];
  for (const piece of pieces) expect(findRefusalReason(piece.repeat((200 << 10) / piece.length), directories)).toBeNull();
});
