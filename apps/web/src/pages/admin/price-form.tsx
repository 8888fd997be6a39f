import { useMutation } from '@tanstack/react-query';
import { type ComponentProps, type ReactNode, useState } from 'react';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Form } from '../../ui/form.tsx';
import { type Override, PriceChanges, toKey } from './price-changes.tsx';
import { savePrices } from './save-prices.ts';

/** The rates that the form has. A price’s other rates, such as long-context rates, stay as they are. */
const RATES = [
  { name: 'inputUsdPerMillion', label: 'Input', usual: '' },
  { name: 'outputUsdPerMillion', label: 'Output', usual: '' },
  { name: 'cacheReadUsdPerMillion', label: 'Cache read', usual: '0.1 × input' },
  { name: 'cacheWrite5mUsdPerMillion', label: 'Cache write, 5 minutes', usual: '1.25 × input' },
  { name: 'cacheWrite1hUsdPerMillion', label: 'Cache write, 1 hour', usual: '2 × input' },
] as const;

type Typed = Record<'model' | 'from' | (typeof RATES)[number]['name'], string>;

interface PriceFormProps {
  stored: readonly Override[];
  /** The price to change; undefined for a new one. */
  edited?: Override | undefined;
  /** A model to fill in. */
  model?: string | undefined;
  /** Names to choose from. */
  models: readonly string[];
  /** Undefined if it was cancelled; else the names whose prices have changed. */
  done: (models?: string[]) => void;
}

/** Sets the price of a model, and shows the effect before it is saved. */
export function PriceForm({ stored, edited, model, models, done }: PriceFormProps): ReactNode {
  const [typed, setTyped] = useState<Typed>(() => toTyped(edited, model));
  const save = useMutation({
    mutationFn: (overrides: readonly Override[]) => savePrices(JSON.stringify(overrides)),
    onSuccess: () => {
      done([...new Set([typed.model.trim(), ...(edited === undefined ? [] : [edited.model])])]);
    },
  });
  const written = toOverride(typed, edited);
  const next = written && replaceOverride(stored, edited, written);
  const submit = (): void => {
    if (next !== undefined) save.mutate(next);
  };
  const field = (name: keyof Typed) => ({
    value: typed[name],
    onChange: ({ target }: { target: { value: string } }) => setTyped({ ...typed, [name]: target.value }),
  });
  return (
    <Form className="admin-form panel price-form" aria-labelledby="price-form" submit={submit}>
      <h3 id="price-form">{edited === undefined ? 'New price' : `Price of ${edited.model}`}</h3>
      <label>
        Model, as in transcripts; with * at its end, all that begin like this
        <input required maxLength={200} list="price-models" autoComplete="off" spellCheck={false} {...field('model')} />
      </label>
      <datalist id="price-models">
        {models.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <RateFields field={field} />
      {edited?.longContext !== undefined && (
        <p className="muted">
          Its rates above {edited.longContext.thresholdTokens.toLocaleString()} tokens stay. Edit them as JSON.
        </p>
      )}
      {next !== undefined && <PriceChanges stored={stored} next={next} />}
      <DialogButtons label="Save price" isDisabled={next === undefined} of={save} close={() => done()} />
    </Form>
  );
}

interface RateFieldsProps {
  /** The value of a field, and what happens when it changes. */
  field: (name: keyof Typed) => Pick<ComponentProps<'input'>, 'value' | 'onChange'>;
}

const RateFields = ({ field }: RateFieldsProps): ReactNode => (
  <fieldset className="price-rates">
    <legend>Per million tokens</legend>
    {RATES.map(({ name, label, usual }) => (
      <label key={name}>
        {label}
        <input
          type="number"
          min={0}
          step="any"
          inputMode="decimal"
          required={usual === ''}
          placeholder={usual}
          {...field(name)}
        />
      </label>
    ))}
    <label>
      From (empty: always)
      <input type="date" {...field('from')} />
    </label>
  </fieldset>
);

function toTyped(edited: Override | undefined, model = ''): Typed {
  const rates = RATES.map(({ name }) => [name, edited?.[name]?.toString() ?? ''] as const);
  return {
    ...(Object.fromEntries(rates) as Omit<Typed, 'model' | 'from'>),
    model: edited?.model ?? model,
    from: edited?.startsAt?.slice(0, 10) ?? '',
  };
}

/** Undefined while something required is missing or is no number. */
function toOverride(typed: Typed, edited: Override | undefined): Override | undefined {
  const model = typed.model.trim();
  const rates = RATES.flatMap(({ name }) => (typed[name] === '' ? [] : [[name, Number(typed[name])] as const]));
  if (model === '' || rates.some(([, rate]) => !(rate >= 0))) return undefined;
  const { inputUsdPerMillion, outputUsdPerMillion, ...others } = Object.fromEntries(rates);
  if (inputUsdPerMillion === undefined || outputUsdPerMillion === undefined) return undefined;
  const { webSearchUsdPerThousand, longContext } = edited ?? {};
  const startsAt = toStart(typed.from, edited);
  return {
    model,
    ...(startsAt !== undefined && { startsAt }),
    ...{ inputUsdPerMillion, outputUsdPerMillion, ...others },
    ...(webSearchUsdPerThousand !== undefined && { webSearchUsdPerThousand }),
    ...(longContext !== undefined && { longContext }),
  };
}

/** A start that was not edited keeps its time of day. */
function toStart(date: string, edited: Override | undefined): string | undefined {
  if (date === '') return undefined;
  return edited?.startsAt?.startsWith(date) ? edited.startsAt : `${date}T00:00:00.000Z`;
}

/** A price of the same model and start is replaced as well. */
function replaceOverride(stored: readonly Override[], edited: Override | undefined, written: Override): Override[] {
  const replaced = new Set([toKey(written), ...(edited === undefined ? [] : [toKey(edited)])]);
  return [...stored.filter((each) => !replaced.has(toKey(each))), written];
}
