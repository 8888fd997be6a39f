import type { ReactNode } from 'react';

/** A small select with its label. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  change,
}: {
  label: string;
  value: Value;
  options: readonly (readonly [Value, string])[];
  change: (value: Value) => void;
}): ReactNode {
  return (
    <label className="row choice">
      <span className="muted">{label}</span>
      <select value={value} onChange={({ target }) => change(target.value as Value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
