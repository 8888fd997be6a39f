import type { ReactNode } from 'react';

/** Sign of a page, an agent or a kind of tool, beside its name. Nothing for a name without one. */
export const Icon = ({ name }: { name: string }): ReactNode => (
  <svg className="icon" aria-hidden="true">
    <use href={`/icons.svg#${name}`} />
  </svg>
);
