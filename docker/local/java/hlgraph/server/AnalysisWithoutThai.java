package hlgraph.server;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.lucene.analysis.Analyzer;
import org.opensearch.analysis.common.CommonAnalysisModulePlugin;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.PreBuiltAnalyzerProviderFactory;
import org.opensearch.index.analysis.PreConfiguredTokenizer;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;

/** The common analysers but for Thai, for a Java runtime that has no Thai word breaker. */
public final class AnalysisWithoutThai extends CommonAnalysisModulePlugin {
    private static final String THAI = "thai";

    private static <T> Map<String, T> without(Map<String, T> all) {
        Map<String, T> rest = new TreeMap<>(all);
        rest.remove(THAI);
        return rest;
    }

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        return without(super.getAnalyzers());
    }

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return without(super.getTokenizers());
    }

    @Override
    public List<PreBuiltAnalyzerProviderFactory> getPreBuiltAnalyzerProviderFactories() {
        return super.getPreBuiltAnalyzerProviderFactories().stream().filter(one -> !one.getName().equals(THAI)).toList();
    }

    @Override
    public List<PreConfiguredTokenizer> getPreConfiguredTokenizers() {
        return super.getPreConfiguredTokenizers().stream().filter(one -> !one.getName().equals(THAI)).toList();
    }
}
