// The icons of the console, drawn with strokes in the colour of the text.

const PATHS = {
  run: "M5 3.5v9l7-4.5z",
  stop: "M4 4h8v8H4z",
  debug: "M8 2v3M5 5.5h6v5a3 3 0 0 1-6 0zM2.5 6.5 5 7.5M13.5 6.5 11 7.5M2.5 12 5 10.5M13.5 12 11 10.5",
  step: "M3 5.5a5 5 0 0 1 9 1M12.5 3v3.8H8.7M8 11.2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 1 0 0-2.6",
  go: "M3 3.5v9M6 3.5v9l7-4.5z",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  share: "M8 10V2M5 4.8 8 2l3 2.8M4 8H3v6h10V8h-1",
  format: "M2 4h12M2 8h8M2 12h11",
  help: "M5.8 6a2.3 2.3 0 1 1 3.3 2c-.8.4-1.1.9-1.1 1.7M8 12.4v.4",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 14 14",
  pin: "M6 2h4l-.6 4.5L12 9H4l2.6-2.5zM8 9v5",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  save: "M3 3h8l2 2v8H3zM5.5 3v3.5h5V3M5 13V9.5h6V13",
  down: "M8 2v8M4.8 7 8 10.2 11.2 7M3 13.5h10",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
