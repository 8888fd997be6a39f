import type { JsonValue } from '../rows.ts';

const REPLACEMENT = '\uFFFD';
/** Only these escapes can bring a NUL or half a surrogate pair into a string that was decoded from UTF-8. */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether a line's JSON text may hold characters that Postgres refuses. Cheap; most lines end here. */
export function maySmuggleCharacters(jsonText: string): boolean {
  return jsonText.includes('\\u') && SUSPECT_ESCAPE.test(jsonText);
}

/** Text without NUL and lone surrogates, which Postgres' text and jsonb refuse: each becomes U+FFFD. */
export function toStorableText(text: string): { text: string; replacedCount: number } {
  if (text.isWellFormed() && !text.includes('\0')) return { text, replacedCount: 0 };
  let replacedCount = 0;
  const storable = text.replace(/\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, () => {
    replacedCount++;
    return REPLACEMENT;
  });
  return { text: storable, replacedCount };
}

/** The same for every string and key of a JSON value, at any depth. */
export function toStorableJson(root: JsonValue): { value: JsonValue; replacedCount: number } {
  let replacedCount = 0;
  const clean = (text: string): string => {
    const result = toStorableText(text);
    replacedCount += result.replacedCount;
    return result.text;
  };
  if (typeof root === 'string') return { value: clean(root), replacedCount };
  // An explicit stack: JSON.parse accepts nesting that would overflow the call stack here.
  const stack: JsonValue[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const [index, child] of node.entries()) {
        if (typeof child === 'string') node[index] = clean(child);
        else if (typeof child === 'object' && child !== null) stack.push(child);
      }
    } else if (typeof node === 'object' && node !== null) {
      for (const [key, child] of Object.entries(node)) {
        const cleanKey = clean(key);
        const cleanChild = typeof child === 'string' ? clean(child) : child;
        if (cleanKey !== key) delete node[key];
        if (cleanKey !== key || cleanChild !== child) defineOwn(node, cleanKey, cleanChild);
        if (typeof cleanChild === 'object' && cleanChild !== null) stack.push(cleanChild);
      }
    }
  }
  return { value: root, replacedCount };
}

/** Assignment would run the setter of a key named `__proto__`. */
function defineOwn(target: { [key: string]: JsonValue }, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
