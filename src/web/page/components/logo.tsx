// The logo, drawn in the page: an image would be requested from the server, with the cookie, before the server is known.

export function Logo({ size }: { size: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0f766e" />
      <path d="M9 24V8m0 8c0 5 14 1 14 8M9 12c0-4 14 0 14-4" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" />
      <circle cx="9" cy="8" r="2.6" fill="#fff" />
      <circle cx="23" cy="8" r="2.6" fill="#99f6e4" />
      <circle cx="23" cy="24" r="2.6" fill="#fde68a" />
    </svg>
  );
}
