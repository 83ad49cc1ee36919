/** What is typed or chosen in a form, by the names of its controls; "" where there is none. */
export function formTexts(form: HTMLFormElement): (name: string) => string {
  const data = new FormData(form);
  return (name) => {
    const value = data.get(name);
    return typeof value === "string" ? value : "";
  };
}
