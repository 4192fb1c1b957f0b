// Renders a Helm chart as Helm does: the same engine, text/template with the functions of sprig, and Helm's own functions that charts
// here use. It reads the values of the chart, changes some as a JSON object on standard input says, and prints each template.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type values = map[string]interface{}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(file string) values {
	text, err := os.ReadFile(file)
	check(err)
	read := values{}
	check(yaml.Unmarshal(text, &read))
	return read
}

// Maps are merged, and everything else is replaced.
func merge(into, from values) {
	for name, value := range from {
		inner, isMap := value.(values)
		known, wasMap := into[name].(values)
		if isMap && wasMap {
			merge(known, inner)
		} else {
			into[name] = value
		}
	}
}

func main() {
	folder := os.Args[1]
	chart := read(filepath.Join(folder, "Chart.yaml"))
	all := read(filepath.Join(folder, "values.yaml"))
	given := values{}
	check(json.NewDecoder(os.Stdin).Decode(&given))
	merge(all, given)
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		check(err)
		return strings.TrimSuffix(string(text), "\n")
	}
	scope := values{
		"Values":  all,
		"Release": values{"Name": os.Args[2]},
		"Chart":   values{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
	}
	files, err := filepath.Glob(filepath.Join(folder, "templates/*.yaml"))
	check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		parsed, err := template.New(file).Funcs(functions).Option("missingkey=error").Parse(string(text))
		check(err)
		fmt.Println("---")
		check(parsed.Execute(os.Stdout, scope))
	}
}
