import type { FormEvent } from "react";

/** What is typed or chosen in a form, by the names of its controls; "" where there is none. */
export type FormTexts = (name: string) => string;

/** Handles the sending of a form by what is in it. */
export function onTexts(send: (given: FormTexts) => void): (event: FormEvent<HTMLFormElement>) => void {
  return (event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    send((name) => {
      const value = data.get(name);
      return typeof value === "string" ? value : "";
    });
  };
}
