// Whether a media query matches, renewed when it changes.
import { useEffect, useState } from "preact/hooks";

export function useMedia(text: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(text).matches);
  useEffect(() => {
    const query = matchMedia(text);
    const update = () => setMatches(query.matches);
    update();
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, [text]);
  return matches;
}
