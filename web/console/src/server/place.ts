// Where the server is: everything is asked for relative to the folder that the page lies in, so that
// the console also works below a path that a proxy puts in front.

const folder = new URL(".", location.href);

/** The URL of a resource of the server, such as `q` or `console/catalog`. */
export function urlOf(path: string): URL {
  return new URL(path, folder);
}

/** The URL to which WebSockets connect. */
export function socketUrl(): URL {
  const url = urlOf("console");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}
