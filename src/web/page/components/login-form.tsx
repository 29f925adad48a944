// Shown without a login: how to get a link, and a field for the password of `--token-file`.
import { useState } from "preact/hooks";
import { logIn } from "../connection/login.ts";
import { Logo } from "./logo.tsx";
import { Problem } from "./action.tsx";

export function LoginForm({ problem }: { problem: string | null }) {
  const [text, setText] = useState("");
  const [failure, setFailure] = useState(problem);
  const submit = async () => {
    const why = await logIn(text.trim());
    if (why === null) location.reload();
    else setFailure(why);
  };
  return (
    <main class="login">
      <Logo size={48} />
      <h1>skein</h1>
      <p>
        This browser is not logged in. Run <code>skein web</code> in a terminal and open the link that it prints.
      </p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <input
          class="input"
          type="password"
          autoComplete="current-password"
          aria-label="password or code of the link"
          placeholder="password, or the code of the link"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="button primary" disabled={text.trim() === ""}>
          Log in
        </button>
      </form>
      {failure !== null && <Problem text={failure} />}
    </main>
  );
}

/** Without a field: another program at the hub's address could say that the login has ended, to get a password. */
export function LoginEnded() {
  return (
    <main class="login">
      <Logo size={48} />
      <h1>skein</h1>
      <p>
        The program at this address says that your login has ended. If you did not end it, another program may have answered: close this
        page. Run <code>skein web</code> in a terminal and open the link that it prints.
      </p>
    </main>
  );
}
