import './dropdown.css';
import { type ReactNode, type ToggleEvent, useId, useRef, useState } from 'react';

const PANEL_WIDTH_PX = 340;
const MARGIN_PX = 8;

/**
 * A button that opens a panel below it. The browser closes the panel on Escape and on a click outside, and gives the
 * focus back to the button. `children` is rendered only while it is open.
 */
export function Dropdown({
  label,
  name,
  isActive = false,
  isQuiet = false,
  children,
}: {
  label: ReactNode;
  /** Name of the panel. */
  name: string;
  /** True if something is chosen in it. */
  isActive?: boolean;
  /** True if the button has no border. */
  isQuiet?: boolean;
  children: (close: () => void) => ReactNode;
}): ReactNode {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const onBeforeToggle = ({ newState }: ToggleEvent): void => {
    const { current } = panel;
    const place = button.current?.getBoundingClientRect();
    if (newState !== 'open' || current === null || place === undefined) return;
    const { clientWidth } = document.documentElement;
    const width = Math.min(PANEL_WIDTH_PX, clientWidth - 2 * MARGIN_PX);
    const left = Math.min(place.left, clientWidth - width - MARGIN_PX);
    current.style.left = `${Math.max(MARGIN_PX, left) + scrollX}px`;
    current.style.top = `${place.bottom + 4 + scrollY}px`;
    current.style.width = `${width}px`;
  };
  return (
    <>
      <button
        type="button"
        ref={button}
        className={`dropdown${isActive ? ' active' : ''}${isQuiet ? ' quiet' : ''}`}
        popoverTarget={id}
        aria-expanded={isOpen}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      <div
        id={id}
        ref={panel}
        popover="auto"
        role="group"
        aria-label={name}
        className="popover dropdown-panel"
        onBeforeToggle={onBeforeToggle}
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
