// Attempts to make the user's own git run a program, or to read a secret, although the sandbox is up. Data only: each row
// is a shell script for the user before, for the tool inside, for the user meanwhile, and for the user afterwards.

export type Tier = "namespaces" | "landlock";

export type GuardAttack = {
  name: string;
  tiers: readonly Tier[];
  /** Runs in the project, which is a repository with one commit. */
  prepare?: string;
  /** Runs as a tool in an earlier turn. */
  earlier?: string;
  /** Runs as a tool. `wait` in it waits for the script `meanwhile`. */
  inside: string;
  /** Variables of the user. */
  env?: Record<string, string>;
  /** Flags of the turn. */
  flags?: string[];
  /** Runs outside as soon as the tool waits. */
  meanwhile?: string;
  /** The user runs it after the turn. It must not run `$plant`, which only works outside. */
  after: string;
  /** skein must refuse to run with exit code 9. */
  isRefused?: true;
  /** skein must report a text that matches. */
  report?: RegExp;
};

const both = ["namespaces", "landlock"] as const;
/** Landlock can't protect a path inside a writable directory. docs/SANDBOX.md lists it. */
const mounts = ["namespaces"] as const;

const fsmonitor = String.raw`printf '[core]\n\tfsmonitor = "%s; false"\n' "$plant"`;
const hook = String.raw`printf '#!/bin/sh\n%s\n' "$plant"`;
const status = "git status";
const commit = "git commit --allow-empty -m more";
const readSecrets = "cat ~/.netrc ~/.aws/credentials ~/.git-credentials > stolen 2>&1";
const showStolen = 'grep -q "$token" stolen && eval "$plant"';
const secrets = 'mkdir -p ~/.aws && for file in .netrc .aws/credentials .git-credentials; do echo "$token" > ~/$file; done';
const innerRepository = (path: string) => `git init -q ${path} && git -C ${path} commit -q --allow-empty -m one`;
const gitlink = (repository: string, path: string) =>
  `git -C ${repository} update-index --add --cacheinfo 160000,$(git -C ${repository}/${path} rev-parse HEAD),${path}`;
const addSubmodule = `${innerRepository('"$world/library"')} && git -c protocol.file.allow=always submodule add -q "$world/library" lib && git commit -qm lib`;

export const guardAttacks: readonly GuardAttack[] = [
  {
    name: "git's config is written after the user has replaced it",
    tiers: mounts,
    inside: `wait; ${fsmonitor} >> .git/config`,
    meanwhile: "git config core.editor vim",
    after: status,
    report: /\.git\/config was replaced outside of the sandbox; the call was stopped to keep it protected/,
  },
  {
    name: "a hook is written after the user has replaced the directory of hooks",
    tiers: mounts,
    inside: `wait; ${hook} > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
    meanwhile: "rm -rf .git/hooks && mkdir .git/hooks",
    after: commit,
    report: /\.git\/hooks was replaced/,
  },
  {
    name: "the missing settings of a linked worktree are created",
    tiers: mounts,
    prepare: 'git config extensions.worktreeConfig true; git worktree add -q "$world/linked"',
    inside: `${fsmonitor} > .git/worktrees/linked/config.worktree`,
    after: 'git -C "$world/linked" status',
  },
  {
    name: "a worktree that the user adds meanwhile is led to another repository",
    tiers: mounts,
    inside: `wait; git init -q .git/evil; ${fsmonitor} >> .git/evil/.git/config; echo "$PWD/.git/evil/.git" > .git/worktrees/linked/commondir`,
    meanwhile: 'git worktree add -q "$world/linked"; sleep 0.5',
    after: 'git -C "$world/linked" status',
    report: /\.git\/worktrees\/linked was created outside of the sandbox; the call was stopped to keep it protected/,
  },
  {
    name: "a program of the project that git's settings name is changed",
    tiers: mounts,
    prepare: `mkdir tools; echo 'exit 1' > tools/monitor; echo 'cat' > tools/clean; git config core.fsmonitor 'sh tools/monitor'; git config filter.x.clean 'sh tools/clean'; echo '*.c filter=x' > .gitattributes`,
    inside: `for file in monitor clean; do echo "$plant" > tools/$file; rm -f tools/$file; echo "$plant" > tools/$file; done`,
    after: "touch a.c; git status; git add a.c",
  },
  {
    name: "a hook is written where the settings of a repository around an added directory look for it",
    tiers: mounts,
    prepare: `mkdir -p "$world/other/ci"; git init -q "$world/other"; git -C "$world/other" config core.hooksPath ci/hooks`,
    inside: `mkdir -p ../other/ci/hooks; ${hook} > ../other/ci/hooks/pre-commit; chmod +x ../other/ci/hooks/pre-commit`,
    flags: ["--add-dir", "../other/ci"],
    after: 'git -C "$world/other" commit --allow-empty -m more',
  },
  {
    name: "a hook is written where a variable of the user makes git look for it",
    tiers: mounts,
    env: { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.hooksPath", GIT_CONFIG_VALUE_0: ".githooks" },
    inside: `mkdir -p .githooks; ${hook} > .githooks/pre-commit; chmod +x .githooks/pre-commit`,
    after: commit,
  },
  { name: "a secret that appears later is read", tiers: both, inside: `wait; ${readSecrets}`, meanwhile: secrets, after: showStolen },
  {
    name: "a secret is read after the user has replaced its file",
    tiers: both,
    prepare: secrets,
    inside: `wait; ${readSecrets}`,
    meanwhile: "for file in .netrc .aws/credentials .git-credentials; do cp ~/$file ~/$file.new && mv ~/$file.new ~/$file; done",
    after: showStolen,
  },
  {
    name: "a hook in core.hooksPath is written",
    tiers: mounts,
    prepare: `mkdir .husky && echo '#!/bin/sh' > .husky/pre-commit && chmod +x .husky/pre-commit && git config core.hooksPath .husky`,
    inside: `echo "$plant" >> .husky/pre-commit; mv .husky old; mkdir .husky; ${hook} > .husky/pre-commit; chmod +x .husky/pre-commit`,
    after: commit,
  },
  {
    name: "a script that a hook of husky runs is written",
    tiers: mounts,
    prepare: `mkdir -p .husky/_ && echo 'sh .husky/pre-commit' > .husky/_/pre-commit && chmod +x .husky/_/pre-commit && echo true > .husky/pre-commit && git config core.hooksPath .husky/_`,
    inside: `echo "$plant" >> .husky/pre-commit`,
    after: commit,
  },
  {
    name: "a missing core.hooksPath of the user's own settings is created",
    tiers: mounts,
    prepare: "git config --global core.hooksPath tools/githooks",
    inside: `mkdir -p tools/githooks; ${hook} > tools/githooks/pre-commit; chmod +x tools/githooks/pre-commit`,
    after: commit,
  },
  {
    name: "an included file is written",
    tiers: mounts,
    prepare: "touch .gitconfig.shared && git config include.path ../.gitconfig.shared",
    inside: `${fsmonitor} > new; cat new >> .gitconfig.shared; mv new .gitconfig.shared`,
    after: status,
  },
  {
    name: "a missing included file is created",
    tiers: mounts,
    prepare: "git config include.path ../shared/gitconfig",
    inside: `mkdir -p shared; ${fsmonitor} > shared/gitconfig; mv shared old; mkdir shared; ${fsmonitor} > shared/gitconfig`,
    after: status,
  },
  {
    name: "hooks are written through a .git that is a link",
    tiers: mounts,
    prepare: "mv .git repository && ln -s repository .git",
    inside: `${hook} > repository/hooks/pre-commit; chmod +x repository/hooks/pre-commit`,
    after: commit,
    isRefused: true,
    report: /\.git is a symbolic link.*\n.*--policy readonly/,
  },
  {
    name: "a .skein that is a link leads skein elsewhere",
    tiers: mounts,
    prepare: "mkdir elsewhere && ln -s elsewhere .skein",
    inside: "touch elsewhere/x",
    after: 'test -e elsewhere/x && eval "$plant"',
    isRefused: true,
    report: /\.skein is a symbolic link/,
  },
  {
    name: "a hook is written through a core.hooksPath that is a link",
    tiers: mounts,
    prepare: "mkdir real && ln -s real .husky && git config core.hooksPath .husky",
    inside: `rm .husky; mkdir .husky; ${hook} > .husky/pre-commit; chmod +x .husky/pre-commit`,
    after: commit,
    isRefused: true,
    report: /\.husky is a symbolic link/,
  },
  {
    name: "the repository of a submodule is exchanged",
    tiers: mounts,
    prepare: addSubmodule,
    inside: `mv .git/modules .git/old; cp -r .git/old .git/modules; ${fsmonitor} >> .git/modules/lib/config`,
    after: status,
  },
  {
    name: "the .git file of a submodule names another repository",
    tiers: mounts,
    prepare: addSubmodule,
    inside: `cp -r .git/modules/lib evil; git config -f evil/config core.worktree ../lib; ${fsmonitor} >> evil/config; echo "gitdir: ../evil" > lib/.git; mv lib old; cp -r old lib; echo "gitdir: ../evil" > lib/.git`,
    after: status,
  },
  {
    name: "a new submodule names a program",
    tiers: both,
    inside: `${innerRepository("sub")}; ${fsmonitor} >> sub/.git/config; ${gitlink(".", "sub")}`,
    after: status,
    report:
      /new repository in .*sub would make git run programs \(core\.fsmonitor\), so it was moved aside; to put it back: mv .*sub\/\.git-moved-by-skein-/,
  },
  {
    name: "a new submodule in an ignored directory has a hook",
    tiers: both,
    prepare: "echo build/ > .gitignore",
    inside: `mkdir build; ${innerRepository("build/sub")}; touch build/sub/a; git -C build/sub add a; ${hook} > build/sub/.git/hooks/post-index-change; chmod +x build/sub/.git/hooks/post-index-change; ${gitlink(".", "build/sub")}; sleep 1.1; touch build/sub/a`,
    after: status,
    report: /hooks\/post-index-change.*moved aside/,
  },
  {
    name: "a new submodule in the index of a submodule names a program",
    tiers: both,
    prepare: addSubmodule,
    inside: `${innerRepository("lib/sub")}; ${fsmonitor} >> lib/sub/.git/config; ${gitlink("lib", "sub")}`,
    after: status,
    report: /lib\/sub .*moved aside/,
  },
  {
    name: "a new submodule has a repository elsewhere in the project",
    tiers: both,
    inside: `git init -q --separate-git-dir=other sub; git -C sub commit -q --allow-empty -m one; ${fsmonitor} >> other/config; ${gitlink(".", "sub")}`,
    after: status,
    report: /core\.fsmonitor.*moved aside/,
  },
  {
    name: "a project without a repository gets one that names a program",
    tiers: both,
    prepare: "rm -rf .git && mkdir -p .skein",
    inside: `git init -q .; ${fsmonitor} >> .git/config`,
    after: status,
    report: /core\.fsmonitor.*moved aside/,
  },
  {
    name: "a project without a repository becomes a bare repository that names a program",
    tiers: both,
    prepare: "rm -rf .git && mkdir -p .skein",
    inside: `git init -q --bare .; ${fsmonitor} >> config; git config --file config core.bare false; git config --file config core.worktree "$PWD"`,
    after: status,
    report: /core\.fsmonitor.*moved aside/,
  },
  {
    name: "git's config is written after its HEAD and its objects became links",
    tiers: mounts,
    earlier: 'B=$(git symbolic-ref HEAD); rm .git/HEAD; ln -s "$B" .git/HEAD; mv .git/objects objects; ln -s ../objects .git/objects',
    inside: `${fsmonitor} >> .git/config`,
    after: status,
  },
  {
    name: "a submodule's config is written after its HEAD became a link",
    tiers: mounts,
    prepare: addSubmodule,
    earlier: 'B=$(git -C lib symbolic-ref HEAD); rm .git/modules/lib/HEAD; ln -s "$B" .git/modules/lib/HEAD',
    inside: `${fsmonitor} >> .git/modules/lib/config`,
    after: status,
  },
  {
    name: "a directory .git that is empty becomes a repository during the turn",
    tiers: mounts,
    prepare: "rm -rf .git && mkdir .git",
    inside: `git init -q .; ${fsmonitor} >> .git/config; wait; true`,
    meanwhile: status,
    after: "true",
  },
  {
    name: "a new submodule names its repository through a link",
    tiers: both,
    inside: `mkdir real; git init -q --separate-git-dir=real/other sub; git -C sub commit -q --allow-empty -m one; ${fsmonitor} >> real/other/config; ${gitlink(".", "sub")}; ln -s real link; echo "gitdir: ../link/other" > sub/.git`,
    after: status,
    report: /core\.fsmonitor.*moved aside/,
  },
  {
    name: "a new submodule names its repository by a text that git reads differently",
    tiers: both,
    inside: `git init -q --separate-git-dir=other sub; git -C sub commit -q --allow-empty -m one; ${fsmonitor} >> other/config; ${gitlink(".", "sub")}; printf 'gitdir: ../other\\0more' > sub/.git`,
    after: status,
    report: /sub would make git run programs \(unreadable\), so it was moved aside/,
  },
  {
    name: "a new submodule has its settings in another directory, with a blank at the end of its name",
    tiers: both,
    inside: `${innerRepository("sub")}; ${gitlink(".", "sub")}; cp -r sub/.git real; ${fsmonitor} >> real/config; ln -s real 'link '; rm sub/.git/config; echo '../../link ' > sub/.git/commondir`,
    after: status,
    report: /core\.fsmonitor.*moved aside/,
  },
  {
    name: "a new submodule is in an index that is a link",
    tiers: both,
    inside: `echo build/ > .gitignore; ${innerRepository("build/sub")}; ${fsmonitor} >> build/sub/.git/config; ${gitlink(".", "build/sub")}; mv .git/index other; ln -s ../other .git/index`,
    after: status,
    report:
      /index of the repository .*project can't be checked any more \(its index .*it is a symbolic link\), so it was moved aside; `git reset`/,
  },
  {
    name: "a new submodule is in a directory of --allow-write",
    tiers: both,
    prepare: innerRepository('"$world/notes"'),
    flags: ["--allow-write", "../notes"],
    inside: `cd "$world/notes"; ${innerRepository("sub")}; ${fsmonitor} >> sub/.git/config; ${gitlink(".", "sub")}`,
    after: 'git -C "$world/notes" status',
    report: /notes\/sub .*moved aside/,
  },
];
