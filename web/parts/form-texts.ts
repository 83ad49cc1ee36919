import type { FormEvent } from "react";

/** Returns the value of a control by name; "" if the form has no such control. */
export type FormTexts = (name: string) => string;

/** A submit handler that passes on the values of the form. */
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
