// The script of `skein demo`: the model writes a small program with a bug, sees its test fail, and repairs it.
// Only the model's answers are scripted; the loop, the tools, the files and the test are real.

export const demoTask = "Write slug.sh, which turns a title into a URL slug, with a test. Make the test pass.";

const program = `# Prints the URL slug of a title.
slug() {
  printf '%s' "$1" | tr '[:upper:]' '[:lower:]' | tr -s ' ' '-'
}
`;

const test = `. ./slug.sh
check() {
  got=$(slug "$1")
  if [ "$got" = "$2" ]; then echo "ok    $1 -> $got"; else echo "FAIL  $1 -> $got, wanted $2"; exit 1; fi
}
check "Hello World" "hello-world"
check "What's new?" "whats-new"
`;

export const demoScript = {
  steps: [
    {
      text: "I'll write the program and its test, then run it.",
      calls: [
        { name: "write", input: { path: "slug.sh", content: program } },
        { name: "write", input: { path: "test.sh", content: test } },
      ],
    },
    { calls: [{ name: "bash", input: { command: "bash test.sh" } }] },
    {
      text: "Punctuation stays in the slug. It has to go before the spaces become dashes.",
      calls: [{ name: "edit", input: { path: "slug.sh", old_text: "| tr -s ' ' '-'", new_text: "| tr -cd 'a-z0-9 -' | tr -s ' ' '-'" } }],
    },
    { calls: [{ name: "bash", input: { command: "bash test.sh" } }] },
    { text: "slug.sh:3 now drops punctuation; both checks of test.sh pass." },
  ],
};
