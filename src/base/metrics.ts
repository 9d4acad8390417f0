/**
 * Numbers for Prometheus: counters, histograms and values read when asked (text format 0.0.4).
 *
 * Promises bounded memory: labels come from fixed lists of the code, never from mail or requests, and a
 * family refuses to grow past a bound. Counting is a map look-up and an addition; nothing is computed
 * until somebody asks.
 */

export type Labels = Readonly<Record<string, string>>;

/** Upper bounds in seconds for what takes from a millisecond to many minutes. */
export const SECONDS_BUCKETS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200,
];
export const COUNT_BUCKETS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Most label sets of one family; a thousand is far above what the fixed lists give. */
const SERIES_MAX = 1000;

interface Series {
  labels: string;
  value: number;
  /** Histograms: observations per bucket, not cumulated. */
  buckets: number[];
}

/** One named family of numbers. */
export class Family {
  readonly #name: string;
  readonly #kind: 'counter' | 'gauge' | 'histogram';
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(
    name: string,
    kind: 'counter' | 'gauge' | 'histogram',
    help: string,
    bounds: readonly number[] = [],
  ) {
    this.#name = name;
    this.#kind = kind;
    this.#help = help;
    this.#bounds = bounds;
  }

  /** Adds to a counter. */
  add(labels: Labels = {}, by = 1): void {
    const series = this.#at(labels);
    if (series !== null) series.value += by;
  }

  /** Sets a gauge. */
  set(labels: Labels, value: number): void {
    const series = this.#at(labels);
    if (series !== null) series.value = value;
  }

  /** Forgets every label set of a gauge, before it is set anew. */
  clear(): void {
    this.#series.clear();
  }

  /** Adds one observation to a histogram, in the unit its name ends with. */
  observe(value: number, labels: Labels = {}): void {
    const series = this.#at(labels);
    if (series === null) return;
    series.value += value;
    let at = this.#bounds.findIndex((bound) => value <= bound);
    if (at < 0) at = this.#bounds.length;
    series.buckets[at] = (series.buckets[at] ?? 0) + 1;
  }

  render(): string {
    const lines = [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} ${this.#kind}`];
    for (const series of this.#series.values()) {
      if (this.#kind === 'histogram') lines.push(...this.#renderHistogram(series));
      else lines.push(`${this.#name}${braces(series.labels)} ${series.value}`);
    }
    return lines.join('\n');
  }

  #renderHistogram(series: Series): string[] {
    const lines: string[] = [];
    let count = 0;
    const prefix = series.labels === '' ? '' : `${series.labels},`;
    for (const [at, bound] of [...this.#bounds, '+Inf'].entries()) {
      count += series.buckets[at] ?? 0;
      lines.push(`${this.#name}_bucket{${prefix}le="${bound}"} ${count}`);
    }
    lines.push(`${this.#name}_sum${braces(series.labels)} ${series.value}`);
    lines.push(`${this.#name}_count${braces(series.labels)} ${count}`);
    return lines;
  }

  #at(labels: Labels): Series | null {
    const key = renderLabels(labels);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= SERIES_MAX) return null;
    const series = {
      labels: key,
      value: 0,
      buckets: Array.from({ length: this.#bounds.length + 1 }, () => 0),
    };
    this.#series.set(key, series);
    return series;
  }
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function renderLabels(labels: Labels): string {
  let text = '';
  for (const name of Object.keys(labels)) {
    text += `${text === '' ? '' : ','}${name}="${escapeLabel(labels[name] ?? '')}"`;
  }
  return text;
}

/** Text format: backslash, quote and line feed are escaped. */
function escapeLabel(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Every family of the appliance. One object a process part, made by the appliance. */
export class Metrics {
  readonly accepted = new Family(
    'postrider_messages_accepted_total',
    'counter',
    'Messages accepted, by status of the answer.',
  );
  readonly attempts = new Family(
    'postrider_attempts_total',
    'counter',
    'Delivery attempts that ended, by outcome, class and kind of destination.',
  );
  readonly attemptSeconds = new Family(
    'postrider_attempt_seconds',
    'histogram',
    'Time of one delivery attempt, by outcome.',
    SECONDS_BUCKETS,
  );
  readonly deliverySeconds = new Family(
    'postrider_delivery_seconds',
    'histogram',
    'Time from acceptance to delivery.',
    SECONDS_BUCKETS,
  );
  readonly requestSeconds = new Family(
    'postrider_http_request_seconds',
    'histogram',
    'Time of API requests, by method and class of status.',
    SECONDS_BUCKETS,
  );
  readonly callSeconds = new Family(
    'postrider_webhook_call_seconds',
    'histogram',
    'Time of webhook calls, by result.',
    SECONDS_BUCKETS,
  );
  readonly commitSeconds = new Family(
    'postrider_commit_seconds',
    'histogram',
    'Time of one durable commit of the writer.',
    SECONDS_BUCKETS,
  );
  readonly commitWrites = new Family(
    'postrider_commit_writes',
    'histogram',
    'Writes that shared one commit.',
    COUNT_BUCKETS,
  );
  readonly loopLagSeconds = new Family(
    'postrider_event_loop_lag_seconds',
    'histogram',
    'How late the main thread comes to a timer.',
    SECONDS_BUCKETS,
  );
  readonly queueRecipients = new Family(
    'postrider_queue_recipients',
    'gauge',
    'Recipients that wait, by kind of destination.',
  );
  readonly queueOldestSeconds = new Family(
    'postrider_queue_oldest_seconds',
    'gauge',
    'Age of the oldest recipient that waits, by kind of destination.',
  );
  readonly webhookBacklog = new Family(
    'postrider_webhook_backlog',
    'gauge',
    'Webhook calls that are still open.',
  );
  readonly findings = new Family(
    'postrider_doctor_findings',
    'gauge',
    'Findings of the last host check, by level.',
  );
  readonly isHalted = new Family('postrider_halted', 'gauge', '1 while the kill switch is on.');
  readonly isDiskLow = new Family(
    'postrider_disk_low',
    'gauge',
    '1 while new sends are refused for want of disk space.',
  );
  readonly build = new Family('postrider_build_info', 'gauge', 'Always 1; the labels tell.');
  readonly memory = new Family('process_resident_memory_bytes', 'gauge', 'Resident memory.');
  readonly descriptors = new Family('process_open_fds', 'gauge', 'Open file descriptors.');
  readonly startedAt = new Family(
    'process_start_time_seconds',
    'gauge',
    'Start of the process since the epoch.',
  );

  /** Everything in the Prometheus text format, version 0.0.4. */
  render(): string {
    const families = Object.values(this).filter((value) => value instanceof Family);
    return `${families.map((family) => family.render()).join('\n')}\n`;
  }
}
