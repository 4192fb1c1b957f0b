import type { NamedType, ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";

/** Writes types in WIT. Those that must have a name get one, and are declared. */
export class WitTypes {
  readonly declarations: string[] = [];

  /** Returns a type in WIT. */
  write(type: ValueType): string {
    switch (type.kind) {
      case "list":
        return `list<${this.write(type.element)}>`;
      case "tuple":
        return `tuple<${type.items.map((item) => this.write(item)).join(", ")}>`;
      case "option":
        return `option<${this.write(type.some)}>`;
      case "result":
        return this.#result(type);
      case "record":
        return this.#declare(
          "record",
          type.fields.map((field) => this.#named(field)),
        );
      case "variant":
        return this.#declare(
          "variant",
          type.cases.map(({ name, type: of }) =>
            of === undefined ? `%${name}` : `%${name}(${this.write(of)})`,
          ),
        );
      case "enum":
      case "flags":
        return this.#declare(
          type.kind,
          type.names.map((name) => `%${name}`),
        );
      default:
        return type.kind;
    }
  }

  #result({ ok, err }: Extract<ValueType, { readonly kind: "result" }>): string {
    if (err === undefined) return ok === undefined ? "result" : `result<${this.write(ok)}>`;
    return `result<${ok === undefined ? "_" : this.write(ok)}, ${this.write(err)}>`;
  }

  #named({ name, type }: NamedType): string {
    return `%${name}: ${this.write(type)}`;
  }

  #declare(kind: string, members: readonly string[]): string {
    const name = `t${this.declarations.length}`;
    this.declarations.push(`${kind} ${name} { ${members.join(", ")} }`);
    return name;
  }
}
