import { createSecretScanner, type SecretScanner } from './secret-scanner.ts';

let scanner: SecretScanner | undefined;

/** A short text with its secrets replaced by what `toMark` makes of each, by default `[REDACTED:<rule>]`. */
export async function redactText(
  text: string,
  toMark: (rule: string, secret: string) => string | Promise<string> = (rule) => `[REDACTED:${rule}]`,
): Promise<string> {
  scanner ??= createSecretScanner();
  const parts: string[] = [];
  let from = 0;
  for (const { rule, start, end } of await scanner.scan(text)) {
    parts.push(text.slice(from, start), await toMark(rule, text.slice(start, end)));
    from = end;
  }
  return parts.join('') + text.slice(from);
}
