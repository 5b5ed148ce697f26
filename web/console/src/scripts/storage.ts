// The browser's storage, which may be full, forbidden or written by another version: nothing here
// throws, and what could not be kept is told once.

import { signal } from "@preact/signals";

/** Why texts are not kept, for the banner; empty while all is well. */
export const storageProblem = signal("");

/** What is kept under `key`, if it is of the right shape. */
export function read<T>(key: string, isRight: (value: unknown) => boolean): T | undefined {
  try {
    const text = localStorage.getItem(key);
    if (text === null) return undefined;
    const value: unknown = JSON.parse(text);
    return isRight(value) ? (value as T) : undefined;
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** Keeps `value`; `false` if that was not possible. */
export function write(key: string, value: unknown): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    storageProblem.value = "";
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

export function remove(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch (error) {
    report(error);
  }
}

/** All keys that begin with `prefix`. */
export function keys(prefix: string): string[] {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch (error) {
    report(error);
    return [];
  }
}

function report(error: unknown): void {
  const isFull = error instanceof DOMException && error.name === "QuotaExceededError";
  storageProblem.value = isFull
    ? "The browser's storage is full: what you write now is lost when you close this page. Copy it, or close scripts you do not need."
    : "The browser does not let this page keep anything: what you write is lost when you close it.";
}
